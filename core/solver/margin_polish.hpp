// From a good point to an exact one: solve for the margin set, then check (mathematics 0.3).
//
// Given sets of members at the lower bound, at the upper bound and between (the margin set M), the
// optimum solves a linear system:
//
//   [0  1' ] [ b      ]   [ total - sum(beta_N)    ]
//   [1 K_MM] [ beta_M ] = [ linear_M - K_MN beta_N ]
//
// Members of M that would leave the box are pinned to it, violators join M, and so on until nothing
// changes. M is kept affinely independent in feature space by a pivoted Cholesky factorisation
// (mathematics 3.4): dependent members, duplicates for instance, keep their present value.
#pragma once

#include <functional>

#include "solver/near_margin.hpp"

namespace widemargin {

// Moves the point to the solution among the members near the margin, as far as that brings the
// violation down; returns whether it is exact. More than `limit` margin members are left alone.
bool polish_margin(TablePoint& point, NearMargin& near, Size limit,
                   const std::function<bool()>& proceed);

}  // namespace widemargin
