/** Calls made within `ageMsMax` share one result. */
export function shareResult<T>(call: () => Promise<T>, ageMsMax: number): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    if (result === undefined) {
      result = call();
      setTimeout(() => {
        result = undefined;
      }, ageMsMax).unref();
    }
    return result;
  };
}
