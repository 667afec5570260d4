package imports

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"

	"paddock/internal/imports/feature"
)

// isZip reports whether the bytes are a zip archive, as a KMZ file and a zipped shapefile are.
func isZip(data []byte) bool { return bytes.HasPrefix(data, []byte("PK\x03\x04")) }

// archive imports the files of a zip archive. If one of them alone has a known format, its set is
// named after the archive. Archives within are not opened.
func (r *run) archive(name string, data []byte) error {
	files, err := unpack(data, MaxFile)
	if err != nil {
		return r.failed(name, "zip", fmt.Errorf("%s: %w", name, err))
	}
	var known, unknown []string
	found := map[string]*Format{}
	for _, f := range files {
		if isCompanion(f.name) && files.find(stem(f.name)+".shp") != nil {
			continue
		}
		if format := formatOf(f.name, f.data); format != nil {
			known = append(known, f.name)
			found[f.name] = format
		} else {
			unknown = append(unknown, name+"/"+f.name)
		}
	}
	if len(known) == 0 {
		unknown = []string{name} // any program may keep its files so
	}
	r.report.Ignored = append(r.report.Ignored, unknown...)
	for _, inner := range known {
		set := base(inner)
		if len(known) == 1 {
			set = base(name)
		}
		in := &feature.Input{Name: name + "/" + inner, Data: files.find(inner), Companion: func(ext string) ([]byte, error) {
			return files.find(stem(inner) + ext), nil
		}}
		if err := r.read(found[inner], in, set); err != nil {
			return err
		}
	}
	return nil
}

// unpacked are the files of an archive in its order.
type unpacked []unpackedFile

type unpackedFile struct {
	name string
	data []byte
}

// find returns the contents of a file, whatever the case of its name; nil if there is none.
func (u unpacked) find(name string) []byte {
	for i := range u {
		if strings.EqualFold(u[i].name, name) {
			return u[i].data
		}
	}
	return nil
}

func stem(name string) string { return strings.TrimSuffix(name, path.Ext(name)) }

// unpack unpacks an archive into at most so many bytes. The sizes that the archive claims are not
// believed.
func unpack(data []byte, limit int64) (unpacked, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if len(z.File) > MaxEntries {
		return nil, fmt.Errorf("%d files in the archive, the limit is %d", len(z.File), MaxEntries)
	}
	var files unpacked
	left := limit
	for _, f := range z.File {
		if !f.Mode().IsRegular() || strings.HasPrefix(path.Base(f.Name), ".") || strings.HasPrefix(f.Name, "__MACOSX/") {
			continue
		}
		text, err := unpackFile(f, left)
		if err == nil && int64(len(text)) > left {
			err = fmt.Errorf("the archive has over %d bytes when it is unpacked", limit)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		left -= int64(len(text))
		files = append(files, unpackedFile{f.Name, text})
	}
	return files, nil
}

// unpackFile reads a file, and at most a byte more than are left.
func unpackFile(f *zip.File, left int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, left+1))
}
