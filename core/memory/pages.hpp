// Pages of the operating system, cleared and only there once they are touched.
#pragma once

#include "common.hpp"

namespace widemargin {

void* map_pages(Size bytes);
void unmap_pages(void* memory, Size bytes);
// Lets the system take the pages until they are touched again; false where it knows no such thing.
bool offer_pages(void* memory, Size bytes);
// Calls the three when the process forks, the last one in the child.
void around_forks(void (*before)(), void (*parent)(), void (*child)());

}  // namespace widemargin
