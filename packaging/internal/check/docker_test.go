package check

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

const dockerDir = "../../docker"

// The image is built of images with a version, by commands that need no network beside package
// managers, and runs one program as a user without rights.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(dockerDir, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range dockerfileFaults(t, text) {
		t.Error(fault)
	}
}

// Each rule is broken by a file of its own.
func TestDockerfileRules(t *testing.T) {
	const good = "FROM a:1.2 AS b\nFROM scratch\nCOPY --from=b /x /x\nUSER 1\nHEALTHCHECK CMD [\"/x\"]\nENTRYPOINT [\"/x\"]\nCMD [\"y\"]\n"
	if faults := dockerfileFaults(t, []byte(good)); len(faults) > 0 {
		t.Errorf("a good file: %q", faults)
	}
	for _, c := range []struct{ from, to, want string }{
		{"a:1.2", "a", "no version"},
		{"a:1.2", "a:latest", "no version"},
		{"COPY", "ADD https://example.com/x /x\nCOPY", "ADD"},
		{"USER 1", "USER root", "root"},
		{"USER 1", "USER 0:0", "root"},
		{"USER 1\n", "", "root"},
		{"CMD [\"y\"]", "CMD [\"y\"]\nCMD [\"z\"]", "2 times CMD"},
		{"CMD [\"y\"]", "CMD y", "shell"},
		{"HEALTHCHECK CMD [\"/x\"]\n", "", "0 times HEALTHCHECK"},
		{"--from=b", "--from=c", "no stage"},
		{"USER 1", "RUN sudo x\nUSER 1", "sudo"},
	} {
		faults := strings.Join(dockerfileFaults(t, []byte(strings.Replace(good, c.from, c.to, 1))), "; ")
		if !strings.Contains(faults, c.want) {
			t.Errorf("%q in place of %q: %q, want %q", c.to, c.from, faults, c.want)
		}
	}
}

// dockerfileFaults returns the violations of the rules.
func dockerfileFaults(t *testing.T, text []byte) (faults []string) {
	t.Helper()
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return []string{err.Error()}
	}
	stages, _, err := instructions.Parse(parsed.AST, linter.New(&linter.Config{Warn: func(rule, _, _, message string, _ []parser.Range) {
		faults = append(faults, rule+": "+message)
	}}))
	if err != nil {
		return append(faults, err.Error())
	}
	var names []string
	for _, s := range stages {
		_, tag, tagged := strings.Cut(s.BaseName, ":")
		if s.BaseName != "scratch" && !slices.Contains(names, s.BaseName) && (!tagged || tag == "latest") {
			faults = append(faults, s.BaseName+": no version")
		}
		names = append(names, s.Name)
		for _, c := range s.Commands {
			faults = append(faults, commandFaults(c, names)...)
		}
	}
	return append(faults, lastStage(&stages[len(stages)-1])...)
}

func commandFaults(c instructions.Command, stages []string) (faults []string) {
	switch c := c.(type) {
	case *instructions.AddCommand:
		return []string{"ADD: COPY takes files, and nothing else"}
	case *instructions.CopyCommand:
		if c.From != "" && !slices.Contains(stages, c.From) {
			return []string{c.From + ": no stage"}
		}
	case *instructions.RunCommand:
		for _, word := range []string{"sudo", "curl", "wget"} {
			if slices.Contains(strings.Fields(strings.Join(c.CmdLine, " ")), word) {
				faults = append(faults, word+" in RUN")
			}
		}
	}
	return faults
}

// lastStage returns the faults of the stage that is the image.
func lastStage(s *instructions.Stage) (faults []string) {
	user, count := "root", map[string]int{}
	for _, c := range s.Commands {
		count[strings.ToUpper(c.Name())]++
		switch c := c.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.CmdCommand:
			if c.PrependShell {
				faults = append(faults, "CMD takes a shell, which the image has not")
			}
		case *instructions.EntrypointCommand:
			if c.PrependShell {
				faults = append(faults, "ENTRYPOINT takes a shell, which the image has not")
			}
		}
	}
	if name, _, _ := strings.Cut(user, ":"); name == "root" || name == "0" {
		faults = append(faults, "the image runs as root")
	}
	for _, name := range []string{"CMD", "ENTRYPOINT", "HEALTHCHECK"} {
		if n := count[name]; n != 1 {
			faults = append(faults, fmt.Sprintf("%d times %s", n, name))
		}
	}
	return faults
}
