package script

import (
	"reflect"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// A tracker tells a function of the prelude about rejected promises that nothing
// handles. There is one in a process.
var tracker struct {
	function lib.TJSValue
	// args are the promise and the reason. The engine keeps their address, so
	// they must not be on a stack of Go, which moves.
	args [2]lib.TJSValue
}

// trackRejections makes the engine call the global function with the given name
// when a promise is rejected that has no handler, with the promise and the
// reason, and when such a promise gets a handler, with the promise alone. The
// engine can do so, but its Go package has no function for it: hence the look at
// its private fields, which a test checks.
func trackRejections(vm *quickjs.VM, name string) error {
	state := reflect.ValueOf(vm).Elem().FieldByName("state")
	runtime := state.FieldByName("runtime").Elem()
	tls := (*libc.TLS)(runtime.FieldByName("tls").UnsafePointer())
	context := uintptr(state.FieldByName("cContext").Uint())
	text, err := libc.CString(name)
	if err != nil {
		return err
	}
	defer libc.Xfree(tls, text)
	global := lib.XJS_GetGlobalObject(tls, context)
	defer lib.XFreeValue(tls, context, global)
	tracker.function = lib.XJS_GetPropertyStr(tls, context, global, text)
	call := rejected
	lib.XJS_SetHostPromiseRejectionTracker(tls, uintptr(runtime.FieldByName("cRuntime").Uint()), *(*uintptr)(unsafe.Pointer(&call)), 0)
	return nil
}

func rejected(tls *libc.TLS, context uintptr, promise, reason lib.TJSValue, handled int32, _ uintptr) {
	tracker.args = [2]lib.TJSValue{promise, reason}
	given := int32(len(tracker.args))
	if handled != 0 {
		given = 1
	}
	lib.XFreeValue(tls, context, lib.XJS_Call(tls, context, tracker.function, tracker.function, given, uintptr(unsafe.Pointer(&tracker.args[0]))))
}
