#include "hocket/frontend/import.h"
