import type { Log } from '@makerbook/kafka';
import type { DoctorSettings } from '../env.js';
import { warnOfChangedKeys } from '../read-account-keys.js';
import { readMakers } from '../read-makers.js';
import { type Finding, judge } from './finding.js';

/** Checks whether each admitted maker's account has the key that its address is made of. */
export async function examineKeys(log: Log, settings: DoctorSettings): Promise<readonly Finding[]> {
  const [url] = settings.RPC_URL;
  if (url === undefined) return [];
  try {
    const { makers } = await readMakers(log, settings.TOPIC_PREFIX);
    const admitted = [...makers.values()].filter(({ admission }) => admission === 'ADMITTED');
    const changed = await warnOfChangedKeys(
      admitted.map(({ maker }) => maker),
      url,
    );
    const what = `keys of ${admitted.length} makers: ${changed.join('; ') || 'none has changed, as far as the node tells'}`;
    return [judge(changed.length === 0, what, 'SECURITY.md#what-a-part-can-do-in-the-wrong-hands')];
  } catch (error) {
    // The look at Kafka says what is wrong.
    return [{ verdict: 'unread', what: `keys of makers: ${(error as Error).message}` }];
  }
}
