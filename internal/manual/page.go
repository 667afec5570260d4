package manual

import (
	"bytes"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// markdown is what the pages are written in: CommonMark with tables. Raw HTML is left out.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// render renders a page. Its links to files that are not embedded become plain text.
func render(files fs.FS, name string, source []byte) *page {
	p := &page{Name: name, Title: name}
	context := parser.NewContext(parser.WithIDs(anchors{}))
	root := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(context))
	m := &maker{files: files, source: source, page: p}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		m.block(n)
	}
	for _, n := range m.lost { // behind the walk, which would lose its way
		for child := n.FirstChild(); child != nil; child = n.FirstChild() {
			n.Parent().InsertBefore(n.Parent(), n, child)
		}
		n.Parent().RemoveChild(n.Parent(), n)
	}
	for _, h := range m.headings {
		h.AppendChild(h, permalink(h))
	}
	for i := range p.sections {
		s := &p.sections[i]
		s.text = strings.Join(strings.Fields(s.text), " ")
		s.lower = lower(s.Heading + " " + s.text)
	}
	var out bytes.Buffer
	_ = markdown.Renderer().Render(&out, source, root) // a buffer takes all
	p.Body = template.HTML(scrollable.Replace(out.String()))
	return p
}

// scrollable makes what may be wider than the screen a part that scrolls by keyboard too. Text that
// looks like a tag is escaped, so these are the tags.
var scrollable = strings.NewReplacer(
	"<pre>", `<pre tabindex="0">`,
	"<table>", `<div class="table" tabindex="0"><table>`, "</table>", "</table></div>",
)

// maker gathers the sections of a page while its tree is walked.
type maker struct {
	files    fs.FS
	source   []byte
	page     *page
	lost     []ast.Node // links without a target
	headings []*ast.Heading
}

// block takes a block of the top level: a heading begins a section.
func (m *maker) block(n ast.Node) {
	h, isHeading := n.(*ast.Heading)
	if isHeading || len(m.page.sections) == 0 {
		m.page.sections = append(m.page.sections, section{page: m.page, Heading: m.page.Title})
	}
	s := &m.page.sections[len(m.page.sections)-1]
	if isHeading {
		id, _ := h.AttributeString("id")
		anchor, _ := id.([]byte)
		s.Heading, s.Anchor, s.level = string(m.plain(n)), string(anchor), h.Level
		if h.Level == 1 {
			m.page.Title = s.Heading
		}
		m.headings = append(m.headings, h)
	} else {
		s.text += string(m.plain(n)) + " "
	}
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			m.link(s, n)
		}
		return ast.WalkContinue, nil
	})
}

// link notes a link or an image, and whether it leads nowhere.
func (m *maker) link(s *section, n ast.Node) {
	target := ""
	switch n := n.(type) {
	case *ast.Link:
		target = string(n.Destination)
	case *ast.Image:
		target = string(n.Destination)
	default:
		return
	}
	if strings.Contains(target, "://") {
		n.SetAttributeString("rel", []byte("noreferrer"))
		return
	}
	file, _, _ := strings.Cut(target, "#")
	if file == "" {
		return
	}
	file = path.Join(path.Dir(m.page.Name), file)
	if _, err := fs.Stat(m.files, file); err != nil {
		m.lost = append(m.lost, n)
		return
	}
	s.links = append(s.links, file)
}

// plain returns the text of a node, without marks.
func (m *maker) plain(n ast.Node) (out []byte) {
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch t := n.(type) {
		case *ast.Text:
			if entering {
				if out = append(out, t.Segment.Value(m.source)...); t.SoftLineBreak() {
					out = append(out, ' ')
				}
			}
			return ast.WalkContinue, nil
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				out = append(append(out, ' '), n.Lines().Value(m.source)...)
			}
		}
		if n.Type() == ast.TypeBlock && len(out) > 0 {
			out = append(out, ' ') // between the cells of a table, and the items of a list
		}
		return ast.WalkContinue, nil
	})
	return bytes.TrimSpace(out)
}

// permalink returns the link of a heading to itself.
func permalink(h *ast.Heading) ast.Node {
	id, _ := h.AttributeString("id")
	anchor, _ := id.([]byte)
	l := ast.NewLink()
	l.Destination = append([]byte("#"), anchor...)
	l.SetAttributeString("class", []byte("anchor"))
	l.SetAttributeString("aria-label", []byte("Link to this section"))
	l.AppendChild(l, ast.NewString([]byte("#")))
	return l
}

// anchors names headings as the hosts of repositories do: small letters, hyphens for spaces, and
// nothing else but digits and underscores; a repeated name has a number.
type anchors map[string]int

var linked = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// Generate implements [parser.IDs].
func (a anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case unicode.IsLetter(c), unicode.IsNumber(c), c == '_', c == '-':
			return unicode.ToLower(c)
		}
		return -1
	}, linked.ReplaceAllString(string(heading), "$1"))
	n := a[name]
	if a[name]++; n > 0 {
		name += "-" + strconv.Itoa(n)
	}
	return []byte(name)
}

// Put implements [parser.IDs].
func (a anchors) Put(id []byte) { a[string(id)]++ }
