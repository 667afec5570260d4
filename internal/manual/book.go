package manual

import (
	"html/template"
	"io/fs"
	"path"
)

// book is the documentation in its rendered form.
type book struct {
	pages    map[string]*page
	parts    []part    // of the first page
	sections []section // of all pages, in the order of the parts
}

// part is a heading of the first page, and the pages that are linked below it.
type part struct {
	Title string
	Pages []*page
}

// page is a page in its rendered form.
type page struct {
	Name, Title string
	Body        template.HTML
	sections    []section
}

// section is a heading of a page, and what follows up to the next one.
type section struct {
	page            *page
	Heading, Anchor string
	level           int
	links           []string // files, relative to the root of the manual
	text            string   // without marks
	lower           string   // text and heading in small letters, see lower
}

// Inside returns the headings of a page that its entry in the list shows.
func (p *page) Inside() (all []section) {
	for _, s := range p.sections {
		if s.level == 2 {
			all = append(all, s)
		}
	}
	return all
}

// bind renders all pages.
func bind(files fs.FS) *book {
	b := &book{pages: map[string]*page{}}
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error { // embedded files can be read
		if err != nil || d.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		source, err := fs.ReadFile(files, name)
		b.pages[name] = render(files, name, source)
		return err
	})
	first := b.pages[firstPage]
	listed := map[*page]bool{first: true}
	b.sections = append(b.sections, first.sections...)
	for _, s := range first.sections {
		if s.level == 2 {
			b.parts = append(b.parts, part{Title: s.Heading})
		}
		for _, name := range s.links {
			if p := b.pages[name]; p != nil && !listed[p] && len(b.parts) > 0 {
				listed[p] = true
				last := &b.parts[len(b.parts)-1]
				last.Pages = append(last.Pages, p)
				b.sections = append(b.sections, p.sections...)
			}
		}
	}
	return b
}
