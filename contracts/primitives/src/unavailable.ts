/** A part of the system is down, or did not answer in time. The same call may succeed later. */
export class Unavailable extends Error {}

/** @returns the answer, or undefined while the part that gives it is down. */
export async function unlessAway<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Unavailable) return undefined;
    throw error;
  }
}
