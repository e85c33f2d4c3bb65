import { expect, test } from '@jest/globals';
import { readRules } from '@makerbook/deploy-checks';
import { speedUpRules } from './speed-up-rules.js';

test('a rehearsal keeps the rules, with shorter times', () => {
  const given = readRules().flatMap((group) => group.rules);
  const rehearsed = speedUpRules(readRules(), 10).flatMap((group) => group.rules);
  const nameOf = (rule: (typeof given)[number]) => ('alert' in rule ? rule.alert : rule.record);
  expect(rehearsed.map(nameOf)).toEqual(given.map(nameOf));
  const find = (name: string) => rehearsed.find((rule) => nameOf(rule) === name);
  expect(find('KafkaAway')).toMatchObject({ for: '6s' });
  expect(find('slo:error_ratio:rate3d')?.expr).toBe(
    'avg_over_time(slo:bad_events[25920s]) / (avg_over_time(slo:events[25920s]) > 0)',
  );
  expect(find('slo:error_ratio:rate5m')?.expr).toContain('[60s]');
  expect(find('InternalErrors')?.expr).toContain('offset 60s');
});
