package keyring

import "testing"

// A ring takes over what another process has stored: a key that stays keeps its grant, and those of
// removed and changed keys end.
func TestReload(t *testing.T) {
	store := &kept{}
	one, err := Open(store)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Open(store)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	defer two.Close()
	if err := two.SetFile([]Key{{Name: "file", SHA256: DigestOf("f"), Verbs: Admin.Names()}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stays", "goes", "renewed"} {
		if err := one.Add(Key{Name: name, SHA256: DigestOf(name), Verbs: Lookup.Names()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := two.Reload(); err != nil {
		t.Fatal(err)
	}
	stays, goes, renewed, file := two.Find("stays"), two.Find("goes"), two.Find("renewed"), two.Find("f")
	if stays == nil || goes == nil || renewed == nil || file == nil {
		t.Fatal(stays, goes, renewed, file)
	}
	if err := one.Remove("goes"); err != nil {
		t.Fatal(err)
	}
	if err := one.Edit("renewed", func(k *Key) error { k.SHA256 = DigestOf("other"); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := two.Reload(); err != nil {
		t.Fatal(err)
	}
	if two.Find("stays") != stays || stays.HasEnded() || two.Find("f") != file || file.HasEnded() {
		t.Error("a key that stays has another grant")
	}
	if two.Find("goes") != nil || !goes.HasEnded() || two.Find("renewed") != nil || !renewed.HasEnded() || two.Find("other") == nil {
		t.Error("a removed or renewed key is still good")
	}
	store.text = []byte("{")
	if two.Reload() == nil || two.Find("stays") != stays {
		t.Error("a damaged store is taken over")
	}
}
