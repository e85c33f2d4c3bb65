/** Replaces a method. Returns a function that puts the old one back. */
export function replaceMethod<T extends object, K extends keyof T>(
  owner: T,
  method: K,
  by: (before: T[K]) => T[K],
): () => void {
  const before = owner[method];
  owner[method] = by(before);
  return () => {
    owner[method] = before;
  };
}
