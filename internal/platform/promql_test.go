package platform_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// series holds the label sets of each metric of a scrape.
type series map[string][]map[string]string

var (
	sample   = regexp.MustCompile(`^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$`)
	pair     = regexp.MustCompile(`(\w+)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"`)
	selector = regexp.MustCompile(`([a-zA-Z_:][\w:]*)\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}`)
	grouping = regexp.MustCompile(`\b(by|on) \(([^)]*)\)`)
	duration = regexp.MustCompile(`\[[^\]]*\]|\b\d[\w.]*`)
	word     = regexp.MustCompile(`[a-zA-Z_:][\w:]*`)
	legend   = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// known are the words of PromQL that the expressions use.
var known = []string{
	"sum", "min", "max", "by", "rate", "increase", "topk", "histogram_quantile", "predict_linear", "offset", "and", "or", "on", "vector", "up",
}

// ofPrometheus are the labels that the scrape adds.
var ofPrometheus = []string{"job", "instance"}

// scrape reads the text format of Prometheus.
func scrape(text string) series {
	s := series{}
	for line := range strings.Lines(text) {
		if m := sample.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			labels := map[string]string{}
			for _, p := range pair.FindAllStringSubmatch(m[2], -1) {
				labels[p[1]] = p[3]
			}
			s[m[1]] = append(s[m[1]], labels)
		}
	}
	return s
}

func (s series) check(t *testing.T, place, expr, legend string) {
	t.Helper()
	for _, fault := range s.faults(expr, legend) {
		t.Errorf("%s: %s: %s", place, expr, fault)
	}
}

// faults returns what an expression and its legend name that the scrape has not. Each identifier
// that is no word of PromQL must be a metric.
func (s series) faults(expr, legendFormat string) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	var labels []string // of the metrics of the expression
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		matchers := slices.DeleteFunc(pair.FindAllStringSubmatch(m[2], -1), func(p []string) bool { return slices.Contains(ofPrometheus, p[1]) })
		for _, p := range matchers {
			if !slices.ContainsFunc(s[m[1]], func(has map[string]string) bool { _, ok := has[p[1]]; return ok }) {
				fault("%s has no label %s", m[1], p[1])
			}
		}
		if m[1] != "up" && !slices.ContainsFunc(s[m[1]], func(has map[string]string) bool { return matches(has, matchers) }) {
			fault("no series of %s has {%s}", m[1], m[2])
		}
	}
	rest := grouping.ReplaceAllString(selector.ReplaceAllString(expr, "$1"), "")
	for _, name := range word.FindAllString(duration.ReplaceAllString(rest, ""), -1) {
		if slices.Contains(known, name) {
			continue
		}
		if s[name] == nil {
			fault("no metric %s", name)
		}
		for _, has := range s[name] {
			for label := range has {
				labels = append(labels, label)
			}
		}
	}
	grouped := slices.Clone(ofPrometheus)
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		for _, label := range word.FindAllString(m[2], -1) {
			if !slices.Contains(ofPrometheus, label) && !slices.Contains(labels, label) {
				fault("no metric of it has the label %s", label)
			}
			grouped = append(grouped, label)
		}
	}
	for _, m := range legend.FindAllStringSubmatch(legendFormat, -1) {
		if !slices.Contains(grouped, m[1]) {
			fault("the legend names %s, by which it is not grouped", m[1])
		}
	}
	return faults
}

// matches reports whether a series satisfies the matchers of a selector.
func matches(has map[string]string, matchers [][]string) bool {
	for _, p := range matchers {
		same := has[p[1]] == p[3]
		if strings.HasSuffix(p[2], "~") {
			same = regexp.MustCompile("^(?:" + p[3] + ")$").MatchString(has[p[1]])
		}
		if same == strings.HasPrefix(p[2], "!") {
			return false
		}
	}
	return true
}
