import type { Chance } from '@makerbook/parts';
import { type Asked, bytesOf } from '../kit/make-requests.js';
import { CURSORS, type Json, METHODS, ODD_FIELDS, ODD_KEYS, ODD_TARGETS, ODD_VALUES } from './odd-values.js';

/** A request on the wire, and what to expect of its answer. */
export interface WireRequest {
  readonly bytes: Buffer;
  /** Method, target, fields and body before they became bytes. */
  readonly asked: Asked;
  /** Method and path are still those of the operation. */
  readonly isOfOperation: boolean;
  /** True if the bytes are one whole request, which has one answer. */
  readonly isFramed: boolean;
  readonly mutation: string;
}

/** More than a body may have. */
const BODY_CHARACTERS_MAX = 300_000;

/** Changes a request in one way; some twice. The same source of chance gives the same change. */
export function mutateRequest(asked: Asked, random: Chance, fields: Readonly<Record<string, string>>): WireRequest {
  const applicable = Object.entries(mutations).filter(([, { fits }]) => fits(asked));
  const [first, ...rest] = applicable;
  if (first === undefined) throw new Error('there are no mutations');
  let mutated = asked;
  const names: string[] = [];
  for (let times = random.oneIn(4) ? 2 : 1; times > 0; times -= 1) {
    const [name, { change, fits }] = random.pick([first, ...rest]);
    if (!fits(mutated)) continue;
    names.push(name);
    mutated = change(mutated, random);
  }
  const isOfOperation = mutated.method === asked.method && pathOf(mutated) === pathOf(asked);
  const whole = bytesOf(mutated, { ...fields, ...mutated.headers });
  // The answer to a HEAD has a body only if the request cannot be read.
  const bytes = mutated.method !== 'HEAD' && random.oneIn(8) ? breakBytes(whole, random, names) : whole;
  const isFramed = bytes === whole && isPlain(mutated);
  return { bytes, asked: mutated, isOfOperation, isFramed, mutation: names.join(', ') };
}

interface RequestMutation {
  readonly fits: (asked: Asked) => boolean;
  readonly change: (asked: Asked, random: Chance) => Asked;
}

const hasJson = ({ body }: Asked) => typeof body === 'string' && parse(body) !== undefined;
const hasBody = ({ body }: Asked) => body !== undefined && body.length > 0;
const hasQuery = ({ target }: Asked) => target.includes('?');
const always = () => true;

/** Keyed by the name that a failure report gives. */
const mutations: Readonly<Record<string, RequestMutation>> = {
  'another value': inJson((at, random) =>
    at.set(random.oneIn(2) ? random.pick(ODD_VALUES) : oddText(at.value, random)),
  ),
  'a field less': inJson((at) => at.drop()),
  'a field more': inJson((at, random) => at.add(random.pick(ODD_KEYS), random.pick(ODD_VALUES))),
  'a field renamed': inJson((at, random) => at.rename(random.pick(ODD_KEYS))),
  'a value within another': inJson((at, random) => at.set(random.oneIn(2) ? [at.value] : { order: at.value })),
  'many of a value': inJson((at, random) => {
    const most = BODY_CHARACTERS_MAX / (JSON.stringify(at.value).length + 1);
    at.set(Array(Math.ceil(Math.min(random.pick([2, 10, 59, 61, 101, 5_000]), most))).fill(at.value));
  }),
  'deep nesting': inJson((at, random) => {
    let value = at.value;
    for (let depth = random.pick([2, 6, 9, 500]); depth > 0; depth -= 1) value = [value];
    at.set(value);
  }),
  'two values exchanged': inJson((at, random, all) => {
    const other = random.pickAny(all) ?? at;
    const { value } = at;
    if (isWithin(other.value, value) || isWithin(value, other.value)) return;
    at.set(other.value);
    other.set(value);
  }),
  'a key twice': inText((text, random) => {
    const keys = [...text.matchAll(/"(\w+)":/g)];
    const key = keys[random.below(keys.length)];
    if (key === undefined) return text;
    return `${text.slice(0, key.index)}"${key[1]}":${JSON.stringify(random.pick(ODD_VALUES))},${text.slice(key.index)}`;
  }),
  'text replaced': inText((text, random) => spliceText(text, random)),
  'text cut': inText((text, random) => text.slice(0, random.below(text.length))),
  'space around': inText((text, random) => `${random.pick([' ', '\n\t', '\ufeff', '\v', '/**/'])}${text}\r\n`),
  'bytes replaced': {
    fits: hasBody,
    change: (asked, random) => {
      const bytes = Buffer.from(asked.body as string);
      const count = Math.min(bytes.length, 1 + random.below(4));
      bytes.set(drawBytes(random, count), random.below(bytes.length - count + 1));
      return { ...asked, body: bytes };
    },
  },
  'no body': { fits: hasBody, change: ({ method, target, headers = {} }) => ({ method, target, headers }) },
  'a body more': {
    fits: (asked) => !hasBody(asked),
    change: (asked, random) => ({ ...asked, body: random.pick(['{}', '[', ' '.repeat(2_000)]) }),
  },
  'another parameter value': inPair((pair, random) => {
    pair[1] = random.oneIn(2) ? textOf(random.pick(ODD_VALUES)) : spliceText(pair[1], random);
  }),
  'a parameter less': inPair((pair, _, pairs) => pairs.splice(pairs.indexOf(pair), 1)),
  'a parameter twice': inPair((pair, _, pairs) => pairs.push([...pair])),
  'a parameter renamed': inPair((pair, random) => {
    pair[0] = random.pick([`${pair[0]}[]`, `${pair[0]}[__proto__]`, ...ODD_KEYS]);
  }),
  'a parameter more': inPair((_, random, pairs) =>
    pairs.push([random.pick(['salt', 'limit', 'cursor', 'signature', '__proto__']), textOf(random.pick(ODD_VALUES))]),
  ),
  'a cursor': inPair((_, random, pairs) => {
    const name = pairs.some(([known]) => known === 'after') ? 'after' : 'cursor';
    const others = pairs.filter(([known]) => known !== name);
    pairs.splice(0, pairs.length, ...others, [name, random.pick(CURSORS)]);
  }),
  'a list longer or shorter': inPair((pair, random) => {
    const [, list] = pair;
    pair[1] = random.pick([`${list},${list}`, `${list},`, `,${list}`, Array(101).fill(list).join()]);
  }),
  'query text replaced': {
    fits: hasQuery,
    change: (asked, random) => {
      const [path = '', query = ''] = asked.target.split('?', 2);
      const odd = random.pick(['%', '%ff', '%00', '%zz', '&', '=', '?', ';', '+', '%0d%0a', '#', '\\', '"']);
      const at = random.below(query.length);
      return { ...asked, target: `${path}?${query.slice(0, at)}${odd}${query.slice(at + random.below(2))}` };
    },
  },
  'another field of the head': {
    fits: always,
    change: (asked, random) => {
      const [name, value] = random.pick(ODD_FIELDS);
      return { ...asked, headers: { ...asked.headers, [name]: value } };
    },
  },
  'many fields of the head': {
    fits: always,
    change: (asked, random) => {
      const fields = Array.from({ length: random.pick([60, 99, 150, 3_000]) }, (_, n) => [`X-${n}`, '1']);
      return { ...asked, headers: { ...asked.headers, ...Object.fromEntries(fields) } };
    },
  },
  'a field of the head less': {
    fits: ({ headers }) => headers !== undefined,
    change: ({ headers: _, ...rest }) => rest,
  },
  'another method': { fits: always, change: (asked, random) => ({ ...asked, method: random.pick(METHODS) }) },
  'another target': {
    fits: always,
    change: (asked, random) => ({ ...asked, target: random.pick(ODD_TARGETS)(asked.target) }),
  },
  'nothing at all': { fits: always, change: (asked) => asked },
};

/** One value of a JSON text, and the changes possible at its place. */
interface Place {
  readonly value: Json;
  set(value: Json): void;
  drop(): void;
  add(key: string, value: Json): void;
  rename(key: string): void;
}

function inJson(change: (at: Place, random: Chance, all: readonly Place[]) => void): RequestMutation {
  return {
    fits: hasJson,
    change: (asked, random) => {
      const root = { body: parse(asked.body as string) as Json };
      const all = placesIn(root);
      const place = random.pickAny(all);
      if (place === undefined) return asked;
      change(place, random, all);
      return { ...asked, body: JSON.stringify(root.body) ?? '' };
    },
  };
}

function placesIn(holder: { [key: string]: Json } | Json[]): Place[] {
  return Object.entries(holder).flatMap(([key, value]) => {
    const target = holder as { [key: string]: Json };
    // A key such as __proto__ has to become an own property.
    const define = (name: string, content: Json) =>
      Object.defineProperty(target, name, { value: content, enumerable: true, configurable: true, writable: true });
    const place: Place = {
      value,
      set: (content) => void define(key, content),
      drop: () => void (Array.isArray(holder) ? holder.splice(Number(key), 1) : delete target[key]),
      add: (name, content) => void define(name, content),
      rename: (name) => {
        delete target[key];
        define(name, value);
      },
    };
    return [place, ...(typeof value === 'object' && value !== null ? placesIn(value) : [])];
  });
}

function isWithin(inner: Json, outer: Json): boolean {
  if (inner === outer) return true;
  return typeof outer === 'object' && outer !== null && Object.values(outer).some((value) => isWithin(inner, value));
}

function inText(change: (text: string, random: Chance) => string): RequestMutation {
  return {
    fits: ({ body }) => typeof body === 'string' && body.length > 0,
    change: (asked, random) => ({ ...asked, body: change(asked.body as string, random) }),
  };
}

type Pair = [name: string, value: string];

/** Changes one parameter of a query. */
function inPair(change: (pair: Pair, random: Chance, pairs: Pair[]) => void): RequestMutation {
  return {
    fits: hasQuery,
    change: (asked, random) => {
      const [path = '', query = ''] = asked.target.split('?', 2);
      const pairs = query.split('&').map((pair): Pair => {
        const [name = '', value = ''] = pair.split('=', 2);
        return [decode(name), decode(value)];
      });
      change(random.pickAny(pairs) as Pair, random, pairs);
      const again = pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
      return { ...asked, target: `${path}?${again}` };
    },
  };
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll('%2C', ',');
}

/** Changes, cuts or doubles digits, or puts something else among them. */
function oddText(value: Json, random: Chance): Json {
  return typeof value === 'string' && value.length > 0 ? spliceText(value, random) : random.pick(ODD_VALUES);
}

function spliceText(text: string, random: Chance): string {
  const at = random.below(text.length);
  const odd = random.pick(['', '00', text.slice(0, 70), ...'0fFgx- "\\,\u0000😀']);
  return text.slice(0, at) + odd + text.slice(at + random.below(3));
}

const latin1 = (text: string) => Buffer.from(text, 'latin1');

/** Changes after which the bytes are no longer one whole request. */
const breakages: Readonly<Record<string, (bytes: Buffer, random: Chance) => Buffer>> = {
  'bytes of the head replaced': (bytes, random) => {
    const changed = Buffer.from(bytes);
    const headEnd = bytes.indexOf('\r\n\r\n');
    changed.set(drawBytes(random, 1 + random.below(3)), random.below(Math.max(1, headEnd - 2)));
    return changed;
  },
  cut: (bytes, random) => Buffer.from(bytes.subarray(0, random.below(bytes.length))),
  'another length': (bytes, random) => {
    const length = random.pick(['0', '1', '-1', '99999', '1e3', '0x10', '', '4294967296', '1, 1']);
    return latin1(bytes.toString('latin1').replace(/Content-Length: \d+/, `Content-Length: ${length}`));
  },
  doubled: (bytes) => Buffer.concat([bytes, bytes]),
  'line ends': (bytes, random) =>
    latin1(bytes.toString('latin1').replace('\r\n', random.pick(['\n', '\r', '\r\n ', '\0']))),
  noise: (_, random) => drawBytes(random, 1 + random.below(400)),
};

function breakBytes(bytes: Buffer, random: Chance, names: string[]): Buffer {
  const [how, broken] = random.pickAny(Object.entries(breakages)) ?? ['', () => bytes];
  names.push(how);
  return broken(bytes, random);
}

function drawBytes(random: Chance, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}

/** True if nothing in the head ends the connection or changes where the request ends. */
function isPlain({ method, target, headers = {} }: Asked): boolean {
  const isClean = /^[!-~]+$/.test(target) && /^[/*]/.test(target);
  return (
    isClean &&
    method !== 'SEARCH' &&
    !('Connection' in headers) &&
    !('Upgrade' in headers) &&
    !Object.values(headers).some((value) => /[^ -~]/.test(value))
  );
}

function pathOf({ target }: Asked): string {
  return target.split(/[?#]/, 1)[0] ?? '';
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
