package doctor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestChecksRunTogether runs checks of which each waits for all others, and one that does not end.
func TestChecksRunTogether(t *testing.T) {
	met := make(chan struct{})
	meet := func(context.Context) Result {
		select {
		case met <- struct{}{}:
		case <-met:
		}
		return ok("met")
	}
	late := Check{"late", func(ctx context.Context) Result {
		<-ctx.Done()
		return ok("too late")
	}}
	checks := []Check{{"a", meet}, {"b", meet}, {"c", func(context.Context) Result { return problem("bad", "way out", make([]Item, 14)...) }}}
	results := Run(t.Context(), checks, nil)
	if len(results) != 3 || results[0].Text != "met" || results[2].Name != "c" || len(results[2].Items) != MaxItems || results[2].Omitted != 4 || Worst(results) != Problem {
		t.Errorf("%+v", results)
	}
	if results := Run(t.Context(), checks, []string{"c"}); len(results) != 1 || results[0].Name != "c" {
		t.Errorf("one: %+v", results)
	}
	never := make(chan struct{})
	stuck := Check{"stuck", func(context.Context) Result { <-never; return ok("") }}
	if r := stuck.run(t.Context(), time.Millisecond); r.Status != Warning || r.Advice == "" || r.Name != "stuck" {
		t.Errorf("stuck: %+v", r)
	}
	close(never)
	if r := late.run(t.Context(), time.Millisecond); r.Name != "late" {
		t.Errorf("late: %+v", r)
	}
}

// TestQuotas reads the limits of control groups of both versions, as systemd, Kubernetes and Docker
// set them.
func TestQuotas(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		root fstest.MapFS
		cpus float64
		text string // of the check of memory
	}{
		"no groups": {fstest.MapFS{}, 0, ""},
		"version 2": {fstest.MapFS{
			"proc/self/cgroup": file("0::/system.slice/paddock.service\n"), "sys/fs/cgroup/system.slice/paddock.service/cpu.max": file("150000 100000\n"),
			"sys/fs/cgroup/system.slice/paddock.service/memory.max": file("1048576\n"),
		}, 1.5, "of 1 MiB of the control group"},
		"version 2 in a container":  {fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/cpu.max": file("50000 100000\n")}, 0.5, ""},
		"version 2 without a quota": {fstest.MapFS{"proc/self/cgroup": file("0::/a\n"), "sys/fs/cgroup/a/cpu.max": file("max 100000\n"), "sys/fs/cgroup/a/memory.max": file("max\n")}, 0, ""},
		"version 1": {fstest.MapFS{
			"proc/self/cgroup": file("4:memory:/docker/x\n2:cpu,cpuacct:/docker/x\n0::/\n"), "sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us": file("200000\n"),
			"sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us": file("100000\n"), "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": file("1099511627776\n"),
		}, 2, "of 1 TiB of the control group"},
	} {
		if got := quota(c.root); math.Abs(got-c.cpus) > 1e-9 {
			t.Errorf("%s: %v processors, want %v", name, got, c.cpus)
		}
		if r := memory(c.root); !strings.Contains(r.Text, c.text) {
			t.Errorf("%s: %s", name, r.Text)
		}
	}
	small := fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/cpu.max": file("50000 100000\n"), "sys/fs/cgroup/memory.max": file("4096\n")}
	if r := cpu(small); r.Status != Warning || r.Advice == "" {
		t.Errorf("half a processor: %+v", r)
	}
	if r := memory(small); r.Status != Problem || r.Advice == "" {
		t.Errorf("little memory: %+v", r)
	}
}

// TestTheTrend counts what was added lately, and tells how long the disk lasts.
func TestTheTrend(t *testing.T) {
	var trend Trend
	begun := time.Date(2026, 3, 12, 0, 0, 0, 0, time.UTC)
	if got := trend.Recent(Counts{At: begun, Late: 7}); got.Late != 7 {
		t.Errorf("without readings all are new: %+v", got)
	}
	for i := range 1000 { // an object a second is late
		trend.Note(Counts{At: begun.Add(time.Duration(i) * trendEvery), Late: uint64(10 * i)})
	}
	end := begun.Add(999 * trendEvery)
	if got := trend.Recent(Counts{At: end, Late: 9990}); got.Late != 600 || len(trend.counts) != trendKept {
		t.Errorf("%d late, %d readings", got.Late, len(trend.counts))
	}
	for i := range 1000 { // 1 GB an hour
		trend.noteSpace(begun.Add(time.Duration(i)*spaceEvery), 1e12-int64(i)*1e9/6)
	}
	end = begun.Add(999 * spaceEvery)
	left, over, known := trend.left(end, 1e12-int64(999)*1e9/6, 0)
	if !known || over != 24*time.Hour || len(trend.spaces) != spaceKept || math.Abs(left.Hours()-833.5) > 1 {
		t.Errorf("%v left over %v, %v, %d readings", left, over, known, len(trend.spaces))
	}
	if _, _, known := trend.left(end, 2e12, 0); known {
		t.Error("a disk that gets emptier has no end")
	}
}

// TestEndsOfCertificates judges certificates by their last day.
func TestEndsOfCertificates(t *testing.T) {
	now := time.Date(2026, 3, 12, 0, 0, 0, 0, time.UTC)
	at := func(days ...int) (all []Certificate) {
		for _, n := range days {
			all = append(all, Certificate{Of: fmt.Sprint("c", n), File: "f.pem", Ends: now.Add(time.Duration(n) * 24 * time.Hour)})
		}
		return all
	}
	for _, c := range []struct {
		days  []int
		want  Status
		items int
	}{{nil, Skipped, 0}, {[]int{90, 30}, OK, 0}, {[]int{90, 13}, Warning, 1}, {[]int{3, -1}, Problem, 2}} {
		if r := JudgeCertificates(at(c.days...), now); r.Status != c.want || len(r.Items) != c.items || (r.Advice == "") != (c.items == 0) {
			t.Errorf("%v: %+v", c.days, r)
		}
	}
	ended := at(-1, 3)
	ended[1].OnHangup = true
	r := JudgeCertificates(ended, now)
	for i, sighup := range []bool{false, true} {
		if strings.Contains(r.Items[i].Text, "SIGHUP") != sighup {
			t.Errorf("%q", r.Items[i].Text)
		}
	}
}

// TestQuantiles of few and of many times.
func TestQuantiles(t *testing.T) {
	times := []time.Duration{1}
	for i := range time.Duration(199) {
		times = append(times, 1+i)
	}
	slices.Reverse(times)
	if p50, p99 := quantiles(times); p50 != 100 || p99 != 198 {
		t.Error(p50, p99)
	}
	if p50, p99 := quantiles([]time.Duration{7}); p50 != 7 || p99 != 7 {
		t.Error(p50, p99)
	}
}

// TestUnknownNames names the checks that there are.
func TestUnknownNames(t *testing.T) {
	known := Names((&Facts{}).Checks())
	if err := Unknown([]string{"lag", "cpu"}, known); err != nil {
		t.Error(err)
	}
	if err := Unknown([]string{"laag"}, known); err == nil || !strings.Contains(err.Error(), "flapping") {
		t.Error(err)
	}
}
