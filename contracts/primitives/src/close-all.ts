/**
 * Takes steps that close what was opened, one after the other, the rest also where one fails.
 * @param onFailure is told of each failure at once
 * @throws the first failure, behind the last step
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
