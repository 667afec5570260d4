package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guideBlock is a block of code of a page: its language, the file that it is, and its text.
var guideBlock = regexp.MustCompile("(?ms)^```(\\S+)( \\S+)?\n(.*?)^```$")

// services stands in for the services that a guide asks. Its answers are the blocks of the guide
// that are files below answers.
const services = `case "$*" in
*api.tomtom.com/geofencing/1/projects/*/fences?key=*) echo '{"fences":[{"id": "5f5a9b4c", "name": "Depot"}]}' ;;
*api.tomtom.com/geofencing/1/fences/5f5a9b4c?key=*) cat answers/fence ;;
*https://traccar.example.com/api/geofences) cat answers/traccar ;;
"location list-geofences --collection-name depots --output json") cat answers/geofences ;;
*) echo "no service for $*" >&2; exit 1 ;;
esac
`

// TestGuides runs the commands of guides in their order, and compares what they print with what the
// guide shows. A block with a name is a file. An … stands for any text on a line.
func TestGuides(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"import.md", "migration.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := os.ReadFile(filepath.Join("../../docs/guides", name))
			if err != nil {
				t.Fatal(err)
			}
			g := newGuide(t)
			for _, m := range guideBlock.FindAllStringSubmatch(string(page), -1) {
				language, file, text := m[1], strings.TrimSpace(m[2]), m[3]
				switch {
				case file != "":
					g.write(file, text, 0o600)
				case language == "console":
					g.console(text)
				default:
					t.Errorf("a block of %s that is neither a file nor run: %s", language, text)
				}
			}
			if g.ran < 3 {
				t.Errorf("%d commands", g.ran)
			}
		})
	}
}

// guide runs the commands of one page in a directory.
type guide struct {
	*testing.T
	dir string
	env string // assignments of earlier commands
	ran int
}

func newGuide(t *testing.T) *guide {
	g := &guide{T: t, dir: t.TempDir()}
	for _, program := range []string{"curl", "aws"} {
		g.write("bin/"+program, "#!/bin/sh\n"+services, 0o700)
	}
	return g
}

func (g *guide) write(name, text string, mode os.FileMode) {
	g.Helper()
	path := filepath.Join(g.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err != nil {
		g.Fatal(err)
	}
}

// console runs the commands of a block, whose output follows each.
func (g *guide) console(text string) {
	g.Helper()
	for part := range strings.SplitSeq(strings.TrimPrefix(text, "$ "), "\n$ ") {
		command, want, _ := strings.Cut(part, "\n")
		if regexp.MustCompile(`^[A-Z]+=\S+$`).MatchString(command) {
			g.env += command + "; "
			continue
		}
		g.ran++
		cmd := exec.CommandContext(g.Context(), "sh", "-c", g.env+command)
		cmd.Dir = g.dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(g.dir, "bin")+":"+plainFirst(g.T), "PROJECT=p", "KEY=k")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			g.Fatalf("%s: %v\n%s", command, err, stderr.String())
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", ".*")
		if !regexp.MustCompile("^" + pattern + "$").MatchString(strings.TrimSpace(string(out))) {
			g.Errorf("%s\nprints\n%s\nthe guide has\n%s", command, out, want)
		}
	}
}
