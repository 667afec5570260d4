//go:build !linux

package notify

import "time"

// monotonic returns 0: there is no manager that asks for it.
func monotonic() time.Duration { return 0 }
