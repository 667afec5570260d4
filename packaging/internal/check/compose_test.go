package check

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// The compositions are valid.
func TestCompose(t *testing.T) {
	checkProject(t, "compose.yaml", "grafana", "paddock", "prometheus")
	checkProject(t, "cluster.yaml", "init", "nats-1", "nats-2", "nats-3", "paddock-1", "paddock-2")
}

// checkProject holds that a composition has these services, of images with a version; that its
// files are there, its ports are those of this machine alone, and each service drops the rights
// that it does not need.
func checkProject(t *testing.T, file string, services ...string) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(dockerDir, file)}, cli.WithInterpolation(true), cli.WithResolvedPaths(true),
		cli.WithEnv([]string{"NATS_PASSWORD=p1", "NATS_SYSTEM_PASSWORD=p2"}))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if names := project.ServiceNames(); !slices.Equal(names, services) {
		t.Fatalf("services %v", names)
	}
	for name, s := range project.Services {
		if _, tag, ok := strings.Cut(s.Image, ":"); !ok || tag == "latest" {
			t.Errorf("%s: the image %s has no version", name, s.Image)
		}
		if s.Build != nil {
			at := filepath.Join(s.Build.Context, s.Build.Dockerfile)
			if _, err := os.Stat(at); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open to other machines", name, p.Published)
			}
		}
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !v.ReadOnly {
				t.Errorf("%s may write to %s", name, v.Source)
			}
		}
		if s.Privileged || !slices.Contains(s.CapDrop, "ALL") || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s has rights that it does not need", name)
		}
	}
}
