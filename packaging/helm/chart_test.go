package helm

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const chart = "paddock"

// tool builds helm.
func tool(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("helm takes minutes to compile")
	}
	path := filepath.Join(t.TempDir(), "helm")
	if out, err := exec.Command("go", "build", "-o", path, "helm.sh/helm/v3/cmd/helm").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// helm runs a command of helm.
func helm(t *testing.T, path string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(path, args...)
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// object is one of Kubernetes.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Replicas    int
		ServiceName string `yaml:"serviceName"`
		Template    struct {
			Spec struct {
				SecurityContext struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
				} `yaml:"securityContext"`
				AutomountServiceAccountToken *bool `yaml:"automountServiceAccountToken"`
				Containers                   []struct {
					Image           string
					EnvFrom         []any `yaml:"envFrom"`
					LivenessProbe   any   `yaml:"livenessProbe"`
					ReadinessProbe  any   `yaml:"readinessProbe"`
					StartupProbe    any   `yaml:"startupProbe"`
					SecurityContext struct {
						AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
						ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
						Capabilities             struct{ Drop []string }
					} `yaml:"securityContext"`
				}
			}
		}
		VolumeClaimTemplates []any `yaml:"volumeClaimTemplates"`
	}
}

// render returns the objects of the chart, by kind and name.
func render(t *testing.T, path string, set ...string) map[string]object {
	t.Helper()
	args := []string{"template", "of", chart, "--kube-version", "1.31.0"}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	out, err := helm(t, path, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := map[string]object{}
	for part := range strings.SplitSeq(out, "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(part), &o); err != nil {
			t.Fatalf("%v\n%s", err, part)
		}
		if o.Kind != "" {
			all[o.Kind+"/"+o.Metadata.Name] = o
		}
	}
	return all
}

// The chart has no fault, and makes one confined pod with a disk, probes and two services.
func TestChart(t *testing.T) {
	path := tool(t)
	if out, err := helm(t, path, "lint", "--strict", chart); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	objects := render(t, path)
	for _, name := range []string{"ConfigMap/of-paddock", "Service/of-paddock", "Service/of-paddock-pod", "StatefulSet/of-paddock"} {
		if _, ok := objects[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
	s := objects["StatefulSet/of-paddock"].Spec
	pod := s.Template.Spec
	if len(objects) != 4 || s.Replicas != 1 || s.ServiceName != "of-paddock-pod" || len(s.VolumeClaimTemplates) != 1 || len(pod.Containers) != 1 {
		t.Fatalf("%d objects, %+v", len(objects), s)
	}
	c := pod.Containers[0]
	no := func(b *bool) bool { return b != nil && !*b }
	if !pod.SecurityContext.RunAsNonRoot || !no(pod.AutomountServiceAccountToken) || !no(c.SecurityContext.AllowPrivilegeEscalation) ||
		!c.SecurityContext.ReadOnlyRootFilesystem || len(c.SecurityContext.Capabilities.Drop) != 1 {
		t.Errorf("the pod has rights that it does not need: %+v", pod)
	}
	if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.StartupProbe == nil || c.Image != "paddock:devel" || len(c.EnvFrom) != 0 {
		t.Errorf("%+v", c)
	}
}

// Values change what they name.
func TestChartValues(t *testing.T) {
	path := tool(t)
	objects := render(t, path, "secret.values.PADDOCK_HTTP_TOKEN=s", "persistence.enabled=false", "image.tag=v1.2.3", "config.track.policy=raw", "fullnameOverride=geo")
	if _, ok := objects["Secret/geo"]; !ok {
		t.Error("no secret")
	}
	s := objects["StatefulSet/geo"].Spec
	if len(s.VolumeClaimTemplates) != 0 || len(s.Template.Spec.Containers) != 1 || len(s.Template.Spec.Containers[0].EnvFrom) != 1 || s.Template.Spec.Containers[0].Image != "paddock:v1.2.3" {
		t.Errorf("%+v", s)
	}
	objects = render(t, path, "secret.existing=own")
	if _, ok := objects["Secret/of-paddock"]; ok || len(objects["StatefulSet/of-paddock"].Spec.Template.Spec.Containers[0].EnvFrom) != 1 {
		t.Error("a secret beside the one that is there")
	}
	for _, wrong := range []string{"image.tag=latest", "imagee.tag=v1", "service.http=0", "persistence.size=ten", "secret.values.lower=x"} {
		if out, err := helm(t, path, "template", "of", chart, "--kube-version", "1.31.0", "--set", wrong); err == nil || !strings.Contains(out, "schema") {
			t.Errorf("%s: %v\n%.300s", wrong, err, out)
		}
	}
}
