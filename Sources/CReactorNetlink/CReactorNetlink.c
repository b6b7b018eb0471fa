#include "CReactorNetlink.h"
