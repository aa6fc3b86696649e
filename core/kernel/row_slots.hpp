// Where kernel rows are kept: slots of equal length in one block of memory, in order of last use.
#pragma once

#include <memory>
#include <vector>

#include "kernel/position.hpp"
#include "memory/slab.hpp"
#include "threads/parallel.hpp"

namespace widemargin {

constexpr Size kRowPadding = 16;  // entries: a panel of floats, two of doubles

enum class Slot : std::int32_t { none = -1 };

// A row knows a prefix of its entries; the row cache completes it. Rows leave in order of last use,
// but never those used since begin_use().
template <class Real>
class RowSlots {
 public:
  RowSlots(Size samples, Size budget_bytes);

  Size held() const { return rows_.size() - free_.size(); }  // rows
  Size stride() const { return length_; }                    // from slot to slot, in entries
  Size limit() const { return limit_; }                      // rows that fit
  bool has_room_for(Size full_rows) const {
    return full_rows * slots_.size() * sizeof(Real) <= budget_;
  }

  Slot find(Index sample) const { return slots_[Size(sample)]; }
  Real* entries(Slot slot) const { return memory_ + Size(slot) * length_; }
  Size known(Slot slot) const { return rows_[Size(slot)].known; }
  void set_known(Slot slot, Size entries) { rows_[Size(slot)].known = entries; }

  void begin_use() { ++clock_; }
  void touch(Slot slot);    // used now
  Slot take(Index sample);  // a slot for a new row; none where all rows are in use
  void release_unused();    // all rows that were not used since begin_use()
  void release_all();       // new ones then follow each other from the first slot on
  // Whether giving every slot room for `columns` entries moves more memory than rows are worth.
  bool moves_much(Size columns) const;

  // Gives every slot room for `columns` entries, moving the rows inside the memory.
  void resize(Size columns);
  // Keeps of every row the entries at these increasing positions.
  void keep(const std::vector<Position>& positions, Team& team);

 private:
  struct Row {
    Index sample = -1;  // none: the slot is free
    Size known = 0;     // entries, a prefix of the columns
    Slot newer = Slot::none, older = Slot::none;
    std::uint64_t last_use = 0;
  };

  Row& row(Slot slot) { return rows_[Size(slot)]; }
  Size rows_of(Size length) const;            // that fit
  Size rows_beside_spare(Size length) const;  // that fit with memory to spare
  void link_newest(Slot slot);
  void unlink(Slot slot);
  void release(Slot slot);
  void allocate(Size length);
  bool layout_suits(Size length) const;
  void evict_for(Size length);
  void close_holes();
  void drop_free_tail();
  void move_rows(Size length);

  Size budget_;
  std::vector<Slot> slots_;  // by sample
  std::vector<Row> rows_;    // by slot
  std::vector<Slot> free_;
  Slot newest_ = Slot::none, oldest_ = Slot::none;
  std::uint64_t clock_ = 0;
  std::unique_ptr<Slab> slab_;
  Real* memory_ = nullptr;
  Size length_ = 0;  // entries of a slot
  Size limit_ = 0;
};

}  // namespace widemargin
