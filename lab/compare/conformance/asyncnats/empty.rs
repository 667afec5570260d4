//! Nothing: this package only has tests.
