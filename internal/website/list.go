package website

import (
	"cmp"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxListed bounds the names in a listing.
const maxListed = 10_000

var listing = template.Must(template.New("listing").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Path}}</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;margin:2rem}td{padding:0 2rem 0 0}td:nth-child(2){text-align:right}</style>
<h1>{{.Path}}</h1>
<table>
{{- if ne .Path "/"}}
<tr><td><a href="../">../</a><td><td>
{{- end}}
{{- range .Entries}}
<tr><td><a href="{{.Link}}">{{.Name}}</a><td>{{.Size}}<td>{{.Modified}}
{{- end}}
</table>
{{- if .More}}
<p>There is more; the first {{len .Entries}} names that were found are shown.
{{- end}}
`))

type listed struct {
	Name, Link, Modified string
	Size                 any
}

// list answers with the names in a directory. If it returns an error, nothing was written.
func (s *Site) list(w http.ResponseWriter, r *http.Request, name string) error {
	f, err := s.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	found, err := f.ReadDir(maxListed + 1)
	if err != nil && err != io.EOF {
		return err
	}
	var page struct {
		Path    string
		Entries []listed
		More    bool
	}
	page.Path = urlPath(name, true)
	if page.More = len(found) > maxListed; page.More {
		found = found[:maxListed]
	}
	for _, entry := range found {
		if e, ok := s.listed(entry); ok {
			page.Entries = append(page.Entries, e)
		}
	}
	slices.SortFunc(page.Entries, func(a, b listed) int { return cmp.Compare(a.Name, b.Name) })
	var b strings.Builder
	if err := listing.Execute(&b, page); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h["X-Content-Type-Options"] = noSniff
	mendRange(r.Header)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(b.String()))
	return nil
}

// listed returns the row of an entry; ok is false for entries that are not served.
func (s *Site) listed(entry fs.DirEntry) (row listed, ok bool) {
	name, mode := entry.Name(), entry.Type()
	if !utf8.ValidString(name) || strings.ContainsFunc(name, odd) || !s.options.Dotfiles && hidden(name) {
		return row, false
	}
	switch {
	case entry.IsDir():
		name += "/"
	case mode.IsRegular():
		if info, err := entry.Info(); err == nil {
			row.Size, row.Modified = info.Size(), info.ModTime().UTC().Format(time.DateTime)
		}
	case mode&fs.ModeSymlink == 0:
		return row, false
	}
	row.Name = name
	row.Link = (&url.URL{Path: name}).String() // adds ./ to a name that looks like a scheme
	return row, true
}
