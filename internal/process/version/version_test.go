package version

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestMerge(t *testing.T) {
	stamped := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123"},
			{Key: "vcs.time", Value: "2026-02-03T04:05:06Z"},
			{Key: "vcs.modified", Value: "true"},
		},
	}
	clean := &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "feed"},
	}}
	tail := " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH

	for _, tc := range []struct {
		name                    string
		built                   *debug.BuildInfo
		version, revision, time string
		want                    string
	}{
		{"nothing recorded", nil, "", "", "", "paddock devel"},
		{"stamped by the go command", stamped, "", "", "", "paddock v1.2.3 (0123456789ab, 2026-02-03, with local changes)"},
		{"development build", clean, "", "", "", "paddock devel (feed)"},
		{
			"the linker wins", stamped, "v2.0.0", "ffffffffffffffff", "2026-03-04T00:00:00Z",
			"paddock v2.0.0 (ffffffffffff, 2026-03-04)",
		},
		{
			"described as dirty", nil, "v2.0.0-dirty", "ffffffffffffffff", "",
			"paddock v2.0.0-dirty (ffffffffffff, with local changes)",
		},
		{"no tag", nil, "fffffff-dirty", "ffffffffffffffff", "", "paddock devel (ffffffffffff, with local changes)"},
		{"unreadable time", nil, "v1", "abc", "yesterday", "paddock v1 (abc)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := merge(tc.built, tc.version, tc.revision, tc.time).String()
			if got != tc.want+tail {
				t.Errorf("got  %q\nwant %q", got, tc.want+tail)
			}
		})
	}
}
