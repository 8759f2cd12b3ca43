package config

import "reflect"

// NewServer returns an entry with every default filled in.
func NewServer(name string) *Server {
	s := new(Server)
	setDefaults(reflect.ValueOf(s).Elem())
	s.Name = name
	return s
}

// NewSchema returns a schema with every default filled in.
func NewSchema(name string) *Schema {
	s := new(Schema)
	setDefaults(reflect.ValueOf(s).Elem())
	s.Name = name
	return s
}
