package wrk

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Scripts that were written for wrk's text read ours: the same fields, at the same places,
// and of ours the numbers that were measured.
func TestScriptsOfUsers(t *testing.T) {
	for _, tc := range []struct {
		script       []string
		of, original string
	}{
		{
			[]string{"awk", "-f", "summary.awk"},
			"http://127.0.0.1:8080/ 3 50 8.66ms 63.95ms 99.30% 1.00k 8.51ms 11.94ms 1003 10.01s, 93.47MB 2 4 11 100.20 9.34MB",
			"http://127.0.0.1:36881/ 2 10 1.92ms 64.28ms 94.13% 22.61k 120.00us 34.17ms 91151 2.09s, 13.04MB 3 7 12 43635.59 6.24MB",
		},
		{
			[]string{"python3", "summary.py"},
			`{"duration": "10s", "errors": [1, 2, 3, 4], "failed": 11, "latency": [0.00866, 0.00364, 0.06395, 99.3], "per_second": 100.2, "percentiles": {"50": 0.00851, "75": 0.01026, "90": 0.01131, "99": 0.01194}, "place": ["Latency", 0.00866, "Req/Sec"], "read": 98010398.72, "requests": 1003, "time": 10.01, "transfer": 9793699.84}`,
			`{"duration": "2s", "errors": [0, 3, 0, 7], "failed": 12, "latency": [0.00192, 0.00605, 0.06428, 94.13], "per_second": 43635.59, "percentiles": {"50": 0.00012, "75": 0.00099, "90": 0.00425, "99": 0.03417}, "place": ["Latency", 0.00192, "Req/Sec"], "read": 13673431.04, "requests": 91151, "time": 2.09, "transfer": 6543114.24}`,
		},
	} {
		path, err := exec.LookPath(tc.script[0])
		if err != nil {
			t.Logf("%s is not here", tc.script[0])
			continue
		}
		for file, want := range map[string]string{"full.txt": tc.of, "original.txt": tc.original} {
			text, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), path, tc.script[1:]...)
			cmd.Dir, cmd.Stdin = "testdata", bytes.NewReader(text)
			out, err := cmd.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != want {
				t.Errorf("%v of %s: %v\n got %s\nwant %s", tc.script, file, err, got, want)
			}
		}
	}
}
