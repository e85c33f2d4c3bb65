/**
 * Finds the fields that a validator ignores because it does not know them. A field that it never reads is not in its
 * schema.
 * @returns the validator's own complaint, or else the path of each field that it did not read
 */
export function findUnread(value: object, validate: (observed: object) => void): string[] {
  const read = new Set<string>();
  try {
    validate(observe(value, '', read));
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
  return listPaths(value, '').filter((path) => !read.has(path));
}

function observe<T extends object>(target: T, path: string, read: Set<string>): T {
  return new Proxy(target, {
    get(object, key, receiver) {
      const inner: unknown = Reflect.get(object, key, receiver);
      if (typeof key === 'symbol') return inner;
      read.add(`${path}/${key}`);
      return isObject(inner) ? observe(inner, `${path}/${key}`, read) : inner;
    },
  });
}

function listPaths(value: object, path: string): string[] {
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => {
    const own = `${path}/${key}`;
    return [own, ...(isObject(inner) ? listPaths(inner, own) : [])];
  });
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
