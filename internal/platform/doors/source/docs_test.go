package source

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"paddock/internal/process/strictyaml"
)

// sectionOf reads the section sources of a whole file.
func sectionOf(t *testing.T, text string) []Settings {
	t.Helper()
	file, root := strictyaml.Parse("p.yaml", []byte(text))
	file.Env = func(name string) (string, bool) { return "value of " + name, true }
	var all []Settings
	for _, e := range root.Entries("the file") {
		if e.Key == "sources" {
			all = Read(e.Value)
		}
	}
	if err := file.Err(); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
	return all
}

// The examples of the documents are read, and the configuration's example has each kind and format.
func TestDocumentsAreTrue(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/start/devices.md")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(string(page), -1) {
		read += len(sectionOf(t, block[1]))
	}
	if read != 7 {
		t.Errorf("%d sources in devices.md", read)
	}
	example, err := os.ReadFile("../../../../docs/reference/paddock.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(example), "# sources:\n")
	section, _, _ = strings.Cut(section, "\n\n")
	all := sectionOf(t, "sources:\n"+strings.ReplaceAll("\n"+section, "\n# ", "\n"))
	if len(all) != 6 || all[0].MQTT.Password != "value of MQTT_PASSWORD" || all[1].MQTT.Format != "json" || all[2].GTFS == nil || all[5].Lines.Object != "boat" {
		t.Errorf("%+v", all)
	}
	for _, keys := range keysOf {
		for _, key := range keys {
			if !strings.Contains(section, key+":") {
				t.Errorf("the example has no %s", key)
			}
		}
	}
}
