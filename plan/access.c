/* See plan/access.h. The functions are not inline, because a check of a plan calls them from hundreds of places. */
#include "plan/access_fields.h"
