import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { EventFragment, FunctionFragment, Interface } from 'ethers';
import { compileSources, renderArtifacts } from './compile-sources.js';
import { deployArtifacts, eventTopics, limitOrderProtocolFragments } from './index.js';

test('the committed ABIs and bytecode are what the sources compile to, and all are exported', () => {
  const committed = fileURLToPath(new URL('../src/artifacts/', import.meta.url));
  const compiled = compileSources(fileURLToPath(new URL('../sol/', import.meta.url)));
  const rendered = renderArtifacts(compiled);
  expect(readdirSync(committed).toSorted()).toEqual([...rendered.keys()].toSorted());
  for (const [file, text] of rendered) expect(readFileSync(committed + file, 'utf8')).toBe(text);
  const byName = compiled.map(({ name, abi, bytecode }) => [name, { abi, bytecode }]);
  expect(deployArtifacts).toEqual(Object.fromEntries(byName));
});

describe('limitOrderProtocolFragments', () => {
  const compiled = new Interface(deployArtifacts.LimitOrderProtocol.abi);
  test.each(limitOrderProtocolFragments)('%s is in the compiled ABI', (text) => {
    const [fragment] = Interface.from([text]).fragments;
    if (fragment instanceof FunctionFragment) {
      const match = compiled.getFunction(fragment.selector);
      expect(match?.outputs.map((output) => output.format())).toEqual(
        fragment.outputs.map((output) => output.format()),
      );
      expect(match?.stateMutability).toBe(fragment.stateMutability);
    } else if (fragment instanceof EventFragment) {
      const match = compiled.getEvent(fragment.topicHash);
      expect(match?.inputs.map((input) => input.indexed === true)).toEqual(
        fragment.inputs.map((input) => input.indexed === true),
      );
    } else {
      throw new Error('neither a function nor an event');
    }
  });
});

test('the event topics are those of the contracts', () => {
  const { WrappedNative, LimitOrderProtocol } = deployArtifacts;
  const abi = [...WrappedNative.abi, ...LimitOrderProtocol.abi];
  const events = new Interface(abi.filter(({ type }) => type === 'event'));
  const named = Object.fromEntries(
    Object.keys(eventTopics).map((name) => [
      name,
      events.getEvent(`${name[0]?.toUpperCase()}${name.slice(1)}`)?.topicHash,
    ]),
  );
  expect(eventTopics).toEqual(named);
});
