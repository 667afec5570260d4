package fence_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
)

// A set knows whether a fence has settings, through edits, images and its stored form.
func TestHasSettings(t *testing.T) {
	doc := collection(polygon("[[0,0],[1,0],[1,1],[0,1],[0,0]]"), polygon("[[2,0],[3,0],[3,1],[2,1],[2,0]]"))
	c := read(t, doc, geojson.ReadOptions{})
	c.Fences[1].Properties = json.RawMessage(`{"paddock:fixes":2}`)
	s := mustSet(t, fence.Options{})
	snap, err := s.Replace(c)
	if err != nil || !snap.HasSettings() {
		t.Fatal(err, snap.HasSettings())
	}
	var image bytes.Buffer
	if err := s.WriteImage(&image, nil); err != nil {
		t.Fatal(err)
	}
	opened, _, err := fence.OpenImage("s", image.Bytes(), fence.Options{})
	if err != nil || !opened.Snapshot().HasSettings() {
		t.Errorf("image: %v", err)
	}
	pages := map[int][]byte{}
	for i, p := range snap.Pages() {
		pages[i] = p.Append(nil)
	}
	restored := mustSet(t, fence.Options{})
	if now, err := restored.Restore(snap.AppendHead(nil), pages); err != nil || !now.HasSettings() {
		t.Errorf("restored: %v", err)
	}
	f := *snap.Fence(1)
	f.Properties = json.RawMessage(`{"paddock:fixes":0}`)
	if _, snap, err = s.Put(f); err != nil || snap.HasSettings() {
		t.Errorf("an invalid setting counts: %v", err)
	}
	if found := snap.Findings(); len(found) != 1 || found[0].Code != geojson.CodeInvalidSetting || found[0].Key != f.Key {
		t.Errorf("findings %v", found)
	}
}
