/**
 * Runs closing steps one after the other. If one fails, it still runs the rest.
 * @param onFailure called with each failure at once
 * @throws the first failure, after the last step
 */
export async function closeAll(
  steps: Iterable<() => unknown>,
  onFailure: (error: unknown) => void = () => undefined,
): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
      onFailure(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
