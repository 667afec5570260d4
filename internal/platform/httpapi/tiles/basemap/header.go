package basemap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// The header of a PMTiles archive, version 3: https://github.com/protomaps/PMTiles, spec/v3.
const (
	magic        = "PMTiles"
	version      = 3
	headerLength = 127

	typeVector = 1
	typeAVIF   = 5 // the last of the raster types, which begin with PNG, 2

	compressionNone = 1
	compressionGzip = 2
)

// header holds the checked fields of the header.
type header struct {
	tileType byte
}

// readHeader reads the header of an archive and checks that the dashboard can draw it.
func readHeader(path string) (h header, err error) {
	f, err := os.Open(path)
	if err != nil {
		return h, fmt.Errorf("%s: %w", path, cause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return h, fmt.Errorf("%s: %w", path, cause(err))
	case !info.Mode().IsRegular():
		return h, fmt.Errorf("%s is not a regular file", path)
	}
	b := make([]byte, headerLength)
	if _, err := io.ReadFull(f, b); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return h, fmt.Errorf("%s: %w", path, cause(err))
	}
	if h, err = parseHeader(b, uint64(info.Size())); err != nil {
		return h, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

func parseHeader(b []byte, size uint64) (h header, err error) {
	if string(b[:len(magic)]) != magic {
		return h, errors.New("this is no PMTiles archive")
	}
	if v := b[7]; v != version {
		return h, fmt.Errorf("this is version %d of PMTiles; use version %d, which the command pmtiles convert makes", v, version)
	}
	le := binary.LittleEndian
	for _, part := range []struct {
		name string
		at   int
	}{{"root directory", 8}, {"metadata", 24}, {"leaf directories", 40}, {"tile data", 56}} {
		offset, length := le.Uint64(b[part.at:]), le.Uint64(b[part.at+8:])
		if length > size || offset > size-length {
			return h, fmt.Errorf("the file ends at %d bytes, before its %s do: it is not complete", size, part.name)
		}
	}
	for at, of := range map[int]string{97: "directories", 98: "tiles"} {
		if c := b[at]; c != compressionNone && c != compressionGzip && (at == 97 || b[99] == typeVector) {
			return h, fmt.Errorf("the %s are compressed in a way that browsers do not read; use gzip", of)
		}
	}
	h.tileType = b[99]
	if h.tileType < typeVector || h.tileType > typeAVIF {
		return h, fmt.Errorf("tiles of type %d are neither vector tiles nor PNG, JPEG, WebP or AVIF", h.tileType)
	}
	return h, nil
}
