/** A parameter of an ABI in JSON. */
interface Parameter {
  readonly name: string;
  readonly type: string;
  readonly indexed?: boolean;
  readonly components?: readonly Parameter[];
}

/** An item of an ABI in JSON. */
export interface AbiItem {
  readonly type: string;
  readonly name?: string;
  readonly inputs?: readonly Parameter[];
  readonly outputs?: readonly Parameter[];
  readonly stateMutability?: string;
}

/** Functions, events and errors of an ABI, a line each, as ethers and viem (`parseAbi`) take them. */
export function describeAbi(abi: readonly AbiItem[]): string {
  const lines = ['function', 'event', 'error'].map((kind) => abi.filter(({ type }) => type === kind).map(describeItem));
  return lines.map((group) => group.join('\n')).join('\n\n');
}

function describeItem({ type, name, inputs = [], outputs = [], stateMutability = 'nonpayable' }: AbiItem): string {
  const mutability = stateMutability === 'nonpayable' ? '' : ` ${stateMutability}`;
  const returns = outputs.length === 0 ? '' : ` returns (${describeParameters(outputs)})`;
  return `${type} ${name}(${describeParameters(inputs)})${mutability}${returns}`;
}

function describeParameters(parameters: readonly Parameter[]): string {
  return parameters
    .map(({ type, components, indexed, name }) => {
      const full = components === undefined ? type : type.replace('tuple', `(${describeParameters(components)})`);
      return [full, ...(indexed === true ? ['indexed'] : []), ...(name === '' ? [] : [name])].join(' ');
    })
    .join(', ');
}
