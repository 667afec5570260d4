package httpapi

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheGuideIsTrue runs the examples of docs/reference/http.md in order: each curl
// command of a block, whose last answer must be the block of JSON that follows.
func TestTheGuideIsTrue(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/http.md")
	must(t, err)
	tw := newTown(t, options{emptyCatalog: true})
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n(?:```json\n(.*?)^```\n)?").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 12 {
		t.Fatalf("%d examples", len(blocks))
	}
	for _, block := range blocks {
		var r reply
		for _, command := range strings.Split("\n"+strings.TrimSpace(block[1]), "\ncurl ")[1:] {
			r = tw.curl(command)
		}
		if block[2] != "" && !matches(block[2], string(r.body)) {
			t.Errorf("%s\ngot  %s\nwant %s", block[1], r.body, block[2])
		}
	}
}

var shellWord = regexp.MustCompile(`\$?'[^']*'|\S+`)

// curl runs a curl command with the few options of the guide.
func (tw *town) curl(command string) reply {
	tw.Helper()
	q := request{method: "GET"}
	words := shellWord.FindAllString(command, -1)
	for i, word := range words {
		if escaped, ok := strings.CutPrefix(word, "$'"); ok {
			word = "'" + strings.ReplaceAll(escaped, `\n`, "\n")
		}
		words[i] = strings.Trim(word, "'")
	}
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "-X":
			i++
			q.method = words[i]
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			q.headers = append(q.headers, name, value)
		case "-d", "--data-binary":
			i++
			q.body = words[i]
			if q.method == "GET" {
				q.method = "POST"
			}
			if !slices.Contains(q.headers, "Content-Type") {
				q.headers = append(q.headers, "Content-Type", "application/x-www-form-urlencoded")
			}
		default:
			path, ok := strings.CutPrefix(words[i], "http://127.0.0.1:8080")
			if !ok {
				tw.Fatalf("curl %s: what is %q?", command, words[i])
			}
			q.path = path
		}
	}
	return tw.send(q)
}

// matches compares texts, ignoring white space; … stands for any text.
func matches(want, got string) bool {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	var pattern strings.Builder
	for i, part := range strings.Split(squeeze(want), "…") {
		if i > 0 {
			pattern.WriteString(".*")
		}
		pattern.WriteString(regexp.QuoteMeta(part))
	}
	return regexp.MustCompile(fmt.Sprintf("^%s$", pattern.String())).MatchString(squeeze(got))
}
