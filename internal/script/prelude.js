// What a script sees. It runs before the script, so the copies of what it uses
// are the engine's own, whatever the script puts in their place.
(function (send, uuid) {
  'use strict';
  const { parse, stringify } = JSON;
  const { apply, ownKeys } = Reflect;
  const then = Promise.prototype.then;
  const NativePromise = Promise, NativeError = Error, NativeProxy = Proxy, NativeDate = Date;
  const { create, freeze, defineProperty, assign, getPrototypeOf, setPrototypeOf, prototype: plain } = Object;
  const { isArray } = Array;
  const toBigInt = BigInt, text = String, asNumber = Number, floor = Math.floor, imul = Math.imul;
  const startsWith = String.prototype.startsWith, slice = String.prototype.slice, test = RegExp.prototype.test;
  const isSafe = Number.isSafeInteger;
  const AsyncFunction = (async () => {}).constructor;
  let mark = ''; // begins what a script cannot write by itself; known once there is a job
  const call = (f, self, ...args) => apply(f, self, args);
  // own is an object that inherits nothing: no toJSON that the script wrote.
  const own = (o) => assign(create(null), o);

  class ToolError extends NativeError {}
  class CallError extends NativeError {}
  class Declined extends NativeError {}
  const kinds = own({ ToolError, CallError, Declined });
  for (const name in kinds) defineProperty(kinds[name].prototype, 'name', { value: name, configurable: true, writable: true });

  // Whole numbers that a double cannot hold travel as they are written.
  const wholes = /^-?[0-9]+$/;
  const read = (json, large) => large
    ? parse(json, (_, v, c) => typeof v === 'number' && !isSafe(v) && c && call(test, wholes, c.source) ? toBigInt(c.source) : v)
    : parse(json);
  const digits = (_, x) => typeof x === 'bigint' ? mark + x : x;
  // A function that looks at every value makes writing three times slower, and
  // few values have a BigInt, which throws without it.
  const write = (v) => {
    try { return stringify(v); } catch { return stringify(v, digits); }
  };

  // here is the place of a call, for the error that it may come to. It costs as much
  // as the call, so in a script that makes very many the place is where the later ones
  // are awaited: an error without a stack gets one where it is thrown.
  let places = 100;
  const elsewhere = freeze(own({ stack: undefined }));
  const here = () => places-- > 0 ? new NativeError() : elsewhere;

  // What waits for its answer, by its id, and the ids that can be used again. No
  // prototype: nothing that a script defines is asked.
  const waiting = setPrototypeOf([], null), unused = setPrototypeOf([], null);
  let last = 0, spare = 0, calls = 0;
  // Every call makes a promise: one function for all of them is cheaper.
  let promised;
  const promise = (resolve, reject) => { promised = { resolve, reject, at: undefined }; };
  function sent(method, json, at) {
    const p = new NativePromise(promise), id = spare > 0 ? unused[--spare] : last++;
    promised.at = at;
    waiting[id] = promised;
    if (at) calls++;
    send(method, id, json);
    return p;
  }
  const request = (method, params, at) => sent(method, write(typeof params === 'object' ? own(params) : params), at);
  function settle(id, ok, json, large) {
    const w = waiting[id];
    if (!w) return;
    waiting[id] = undefined;
    unused[spare++] = id;
    if (w.at) calls--;
    if (ok) {
      const value = json === '' ? undefined : read(json, large);
      w.resolve(value && typeof value === 'object' && value['result://'] === mark ? whole(value) : value);
      return;
    }
    const e = read(json, large);
    const error = new (kinds[e.name] || NativeError)(e.message);
    for (const key of ['server', 'tool', 'reason', 'retry', 'result']) if (e[key] !== undefined) error[key] = e[key];
    if (w.at.stack !== undefined) error.stack = w.at.stack;
    else delete error.stack;
    if (outcome.done && outcome.lost === undefined) outcome.lost = text(e.name) + ': ' + text(e.message);
    w.reject(error);
  }

  // A value that is too large to pass is a handle.
  function whole(v) {
    const ask = (params) => request('script/slice', { uri: v.uri, ...params }, new NativeError());
    return freeze({
      uri: v.uri, size: v.size, shape: v.shape,
      text: (from, n) => ask({ from, n }), lines: (a, b) => ask({ first: a, last: b }),
    });
  }

  // named is an object whose properties are made when they are first asked for. The
  // language itself asks for then and toJSON.
  const named = (make) => create(new NativeProxy(create(null), {
    get: (_, key, self) => {
      if (typeof key === 'symbol' || key === 'then' || key === 'toJSON') return undefined;
      const value = make(key);
      defineProperty(self, key, own({ value, enumerable: true }));
      return value;
    },
    set: () => { throw new TypeError('tools cannot be changed'); },
  }));
  const caller = (server, tool) => {
    const whom = '{"server":' + stringify(server) + ',"tool":' + stringify(tool);
    return (args) => {
      const json = write(args);
      return sent('script/call', json === undefined ? whom + '}' : whom + ',"arguments":' + json + '}', here());
    };
  };
  const serverOf = (server) => named((tool) => caller(server, tool));
  const tools = named(serverOf);

  const show = (v) => {
    if (typeof v === 'string') return v;
    if (v instanceof NativeError) return v.name + ': ' + v.message;
    if (typeof v === 'bigint' || typeof v === 'symbol') return text(v);
    if (typeof v === 'function') return 'a function';
    const json = write(v);
    return json === undefined ? text(v) : json;
  };
  const log = (...args) => {
    let line = '';
    for (let i = 0; i < args.length; i++) line += (i ? ' ' : '') + show(args[i]);
    send('script/log', 0, line);
  };

  // xorshift128 from the seed.
  let a, b, c, d;
  const random = () => {
    let t = d;
    const s = a;
    d = c; c = b; b = s;
    t ^= t << 11; t ^= t >>> 8;
    a = t ^ s ^ (s >>> 19);
    return (a >>> 0) / 4294967296;
  };
  defineProperty(Math, 'random', { value: random, writable: true, configurable: true });

  let clock = null; // where it stands; null lets it run
  const wait = (ms) => {
    ms = asNumber(ms);
    if (!(ms >= 0 && ms < Infinity)) throw new RangeError('sleep takes milliseconds');
    return call(then, request('sleep', ms), () => { if (clock !== null) clock += floor(ms); });
  };
  const hex = (n) => { let s = ''; for (let i = 0; i < n; i++) s += call(slice, '0123456789abcdef', floor(random() * 16))[0]; return s; };
  const fixed = () => hex(8) + '-' + hex(4) + '-4' + hex(3) + '-8' + hex(3) + '-' + hex(12);

  let repeats = false; // the seed was given
  const globals = {
    tools,
    call: freeze({ raw: (server, tool, args) => request('script/raw', { server, tool, arguments: args }, here()) }),
    inspect: (what) => request('script/inspect', what === undefined ? {} : what, here()),
    resources: freeze({ read: (uri) => request('script/read', { uri }, here()) }),
    prompts: freeze({ get: (server, name, args) => request('script/prompt', { server, name, arguments: args }, here()) }),
    kept: (uri) => request('script/kept', { uri }, here()),
    ask: (message, schema) => request('script/ask', { message, schema }, here()),
    sleep: wait,
    crypto: freeze({ randomUUID: () => repeats ? fixed() : uuid() }),
    console: freeze({ log, info: log, warn: log, error: log, debug: log }),
    ToolError, CallError, Declined,
  };
  const global = (name, value) => defineProperty(globalThis, name, { value, writable: true, configurable: true });
  for (const name in globals) global(name, globals[name]);

  // begin gives the globals what only the job knows.
  function begin(config) {
    mark = config.mark;
    [a, b, c, d] = config.seed;
    for (let i = 0; i < 16; i++) random();
    repeats = config.fixed;
    clock = config.at;
    if (clock !== null) {
      globalThis.Date = class Date extends NativeDate {
        constructor(...args) { args.length ? super(...args) : super(clock); }
        static now() { return clock; }
      };
    }
    for (const name of config.servers) defineProperty(tools, name, { value: serverOf(name), enumerable: true });
    if (config.args !== null) global('args', read(config.args, config.largeArgs));
  }

  // outcome is what a script came to, for the host to read when it asks.
  const outcome = create(null);
  outcome.done = false;
  outcome.unawaited = 0;
  outcome.value = outcome.fault = outcome.lost = undefined; // room for them while there is memory
  // Without memory nothing can be written about an error; then this stands.
  const nothingLeft = '{"name":"Thrown","message":"null","stack":""}';
  const said = (v, fallback) => { try { return text(v); } catch { return fallback; } };
  function failed(e, during = '') {
    outcome.fault = nothingLeft;
    outcome.done = true;
    outcome.unawaited = calls;
    let name = 'Error', message, stack = '';
    if (e !== null && typeof e === 'object') {
      try { name = text(e.name); message = text(e.message); stack = text(e.stack); } catch { message = message || 'an error that cannot be read'; }
      if (!(e instanceof NativeError)) { name = 'Thrown'; try { message = write(e) || message; } catch { message = said(e, 'a value that cannot be written'); } }
    } else { name = 'Thrown'; message = said(e, 'a value that cannot be written'); }
    if (name !== 'InternalError') message = during + (message || 'an error without a message');
    outcome.fault = stringify(own({ name, message, stack }));
  }
  // isHidden reports whether an object may hold something that is no property of its
  // own, as a Map or an error does. kindOf names such an object.
  const isHidden = (v) => { const p = getPrototypeOf(v); return p !== null && p !== plain; };
  const kindOf = (v) => { try { return text(v.constructor.name) || 'value'; } catch { return 'value'; } };
  function returned(v) {
    if (typeof v === 'function' || typeof v === 'symbol') return failed(new TypeError('a script returns data, and this is a ' + typeof v));
    try {
      outcome.value = v === undefined ? undefined : write(v);
      if (outcome.value === '{}' && isHidden(v)) throw new TypeError('it is a ' + kindOf(v) + ', of which JSON shows nothing');
    } catch (e) { return failed(e, 'what the script returned cannot be written as JSON: '); }
    outcome.done = true;
    outcome.unawaited = calls;
  }
  function start(config, code) {
    begin(parse(config));
    try {
      call(then, new AsyncFunction(code)(), returned, (e) => failed(e));
    } catch (e) { failed(e); }
  }
  return { start, settle, done: () => outcome.done, unawaited: () => outcome.unawaited, value: () => outcome.value, fault: () => outcome.fault, lost: () => outcome.lost };
})
