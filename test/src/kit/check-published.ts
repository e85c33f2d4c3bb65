import type { TopicNames } from '@makerbook/contracts-events';
import { openMessageCheck } from '@makerbook/contracts-events/testing';
import type { Log } from '@makerbook/kafka';

/** Follows topics as the log does. A message that is not as `asyncapi.json` describes it ends the following with an error. */
export function checkPublished(log: Log, topics: TopicNames): Pick<Log, 'followTopic'> {
  const faultOf = openMessageCheck('refused');
  const ids = Object.keys(topics) as (keyof TopicNames)[];
  return {
    followTopic: (options) => {
      const id = ids.find((one) => topics[one] === options.topic);
      if (id === undefined) throw new Error(`${options.topic} is none of the topics`);
      return log.followTopic({
        ...options,
        onRecords: (partition, records) => {
          for (const record of records) {
            const fault = faultOf(id, record);
            if (fault !== undefined) throw new Error(`${options.topic} ${partition}:${record.offset}: ${fault}`);
          }
          return options.onRecords(partition, records);
        },
      });
    },
  };
}
