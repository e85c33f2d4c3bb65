// Generated from sol/ by `npm run generate`. Do not edit.
export const FeeOnTransferToken = {
  abi: [
    {
      "inputs": [
        {
          "internalType": "string",
          "name": "name",
          "type": "string"
        },
        {
          "internalType": "string",
          "name": "symbol",
          "type": "string"
        },
        {
          "internalType": "uint8",
          "name": "decimals_",
          "type": "uint8"
        }
      ],
      "stateMutability": "nonpayable",
      "type": "constructor"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "spender",
          "type": "address"
        },
        {
          "internalType": "uint256",
          "name": "allowance",
          "type": "uint256"
        },
        {
          "internalType": "uint256",
          "name": "needed",
          "type": "uint256"
        }
      ],
      "name": "ERC20InsufficientAllowance",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "sender",
          "type": "address"
        },
        {
          "internalType": "uint256",
          "name": "balance",
          "type": "uint256"
        },
        {
          "internalType": "uint256",
          "name": "needed",
          "type": "uint256"
        }
      ],
      "name": "ERC20InsufficientBalance",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "approver",
          "type": "address"
        }
      ],
      "name": "ERC20InvalidApprover",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "receiver",
          "type": "address"
        }
      ],
      "name": "ERC20InvalidReceiver",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "sender",
          "type": "address"
        }
      ],
      "name": "ERC20InvalidSender",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "spender",
          "type": "address"
        }
      ],
      "name": "ERC20InvalidSpender",
      "type": "error"
    },
    {
      "anonymous": false,
      "inputs": [
        {
          "indexed": true,
          "internalType": "address",
          "name": "owner",
          "type": "address"
        },
        {
          "indexed": true,
          "internalType": "address",
          "name": "spender",
          "type": "address"
        },
        {
          "indexed": false,
          "internalType": "uint256",
          "name": "value",
          "type": "uint256"
        }
      ],
      "name": "Approval",
      "type": "event"
    },
    {
      "anonymous": false,
      "inputs": [
        {
          "indexed": true,
          "internalType": "address",
          "name": "from",
          "type": "address"
        },
        {
          "indexed": true,
          "internalType": "address",
          "name": "to",
          "type": "address"
        },
        {
          "indexed": false,
          "internalType": "uint256",
          "name": "value",
          "type": "uint256"
        }
      ],
      "name": "Transfer",
      "type": "event"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "owner",
          "type": "address"
        },
        {
          "internalType": "address",
          "name": "spender",
          "type": "address"
        }
      ],
      "name": "allowance",
      "outputs": [
        {
          "internalType": "uint256",
          "name": "",
          "type": "uint256"
        }
      ],
      "stateMutability": "view",
      "type": "function"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "spender",
          "type": "address"
        },
        {
          "internalType": "uint256",
          "name": "value",
          "type": "uint256"
        }
      ],
      "name": "approve",
      "outputs": [
        {
          "internalType": "bool",
          "name": "",
          "type": "bool"
        }
      ],
      "stateMutability": "nonpayable",
      "type": "function"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "account",
          "type": "address"
        }
      ],
      "name": "balanceOf",
      "outputs": [
        {
          "internalType": "uint256",
          "name": "",
          "type": "uint256"
        }
      ],
      "stateMutability": "view",
      "type": "function"
    },
    {
      "inputs": [],
      "name": "decimals",
      "outputs": [
        {
          "internalType": "uint8",
          "name": "",
          "type": "uint8"
        }
      ],
      "stateMutability": "view",
      "type": "function"
    },
    {
      "inputs": [],
      "name": "feeBasisPoints",
      "outputs": [
        {
          "internalType": "uint256",
          "name": "",
          "type": "uint256"
        }
      ],
      "stateMutability": "view",
      "type": "function"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "to",
          "type": "address"
        },
        {
          "internalType": "uint256",
          "name": "amount",
          "type": "uint256"
        }
      ],
      "name": "mint",
      "outputs": [],
      "stateMutability": "nonpayable",
      "type": "function"
    },
    {
      "inputs": [],
      "name": "name",
      "outputs": [
        {
          "internalType": "string",
          "name": "",
          "type": "string"
        }
      ],
      "stateMutability": "view",
      "type": "function"
    },
    {
      "inputs": [
        {
          "internalType": "uint256",
          "name": "feeBasisPoints_",
          "type": "uint256"
        }
      ],
      "name": "setFeeBasisPoints",
      "outputs": [],
      "stateMutability": "nonpayable",
      "type": "function"
    },
    {
      "inputs": [],
      "name": "symbol",
      "outputs": [
        {
          "internalType": "string",
          "name": "",
          "type": "string"
        }
      ],
      "stateMutability": "view",
      "type": "function"
    },
    {
      "inputs": [],
      "name": "totalSupply",
      "outputs": [
        {
          "internalType": "uint256",
          "name": "",
          "type": "uint256"
        }
      ],
      "stateMutability": "view",
      "type": "function"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "to",
          "type": "address"
        },
        {
          "internalType": "uint256",
          "name": "value",
          "type": "uint256"
        }
      ],
      "name": "transfer",
      "outputs": [
        {
          "internalType": "bool",
          "name": "",
          "type": "bool"
        }
      ],
      "stateMutability": "nonpayable",
      "type": "function"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "from",
          "type": "address"
        },
        {
          "internalType": "address",
          "name": "to",
          "type": "address"
        },
        {
          "internalType": "uint256",
          "name": "value",
          "type": "uint256"
        }
      ],
      "name": "transferFrom",
      "outputs": [
        {
          "internalType": "bool",
          "name": "",
          "type": "bool"
        }
      ],
      "stateMutability": "nonpayable",
      "type": "function"
    }
  ],
  bytecode: '0x60a06040526064600555348015610014575f5ffd5b50604051610c23380380610c2383398101604081905261003391610102565b82828282826003610044838261020e565b506004610051828261020e565b50505060ff16608052506102cc9350505050565b634e487b7160e01b5f52604160045260245ffd5b5f82601f830112610088575f5ffd5b81516001600160401b038111156100a1576100a1610065565b604051601f8201601f19908116603f011681016001600160401b03811182821017156100cf576100cf610065565b6040528181528382016020018510156100e6575f5ffd5b8160208501602083015e5f918101602001919091529392505050565b5f5f5f60608486031215610114575f5ffd5b83516001600160401b03811115610129575f5ffd5b61013586828701610079565b602086015190945090506001600160401b03811115610152575f5ffd5b61015e86828701610079565b925050604084015160ff81168114610174575f5ffd5b809150509250925092565b600181811c9082168061019357607f821691505b6020821081036101b157634e487b7160e01b5f52602260045260245ffd5b50919050565b601f821115610209578282111561020957805f5260205f20601f840160051c60208510156101e257505f5b90810190601f840160051c035f5b81811015610205575f838201556001016101f0565b5050505b505050565b81516001600160401b0381111561022757610227610065565b61023b81610235845461017f565b846101b7565b6020601f82116001811461026d575f83156102565750848201515b5f19600385901b1c1916600184901b1784556102c5565b5f84815260208120601f198516915b8281101561029c578785015182556020948501946001909201910161027c565b50848210156102b957868401515f19600387901b60f8161c191681555b505060018360011b0184555b5050505050565b60805161093f6102e45f395f610155015261093f5ff3fe608060405234801561000f575f5ffd5b50600436106100cf575f3560e01c806340c10f191161007d578063a9059cbb11610058578063a9059cbb146101c2578063b8606eef146101d5578063dd62ed3e146101de575f5ffd5b806340c10f191461017f57806370a082311461019257806395d89b41146101ba575f5ffd5b806318160ddd116100ad57806318160ddd1461012957806323b872dd1461013b578063313ce5671461014e575f5ffd5b80630165dd27146100d357806306fdde03146100e8578063095ea7b314610106575b5f5ffd5b6100e66100e136600461077d565b610216565b005b6100f061028c565b6040516100fd9190610794565b60405180910390f35b6101196101143660046107e4565b61031c565b60405190151581526020016100fd565b6002545b6040519081526020016100fd565b61011961014936600461080c565b610335565b60405160ff7f00000000000000000000000000000000000000000000000000000000000000001681526020016100fd565b6100e661018d3660046107e4565b610358565b61012d6101a0366004610846565b6001600160a01b03165f9081526020819052604090205490565b6100f0610366565b6101196101d03660046107e4565b610375565b61012d60055481565b61012d6101ec366004610866565b6001600160a01b039182165f90815260016020908152604080832093909416825291909152205490565b612710811115610287576040517f08c379a000000000000000000000000000000000000000000000000000000000815260206004820152601360248201527f666565206f7665722065766572797468696e670000000000000000000000000060448201526064015b60405180910390fd5b600555565b60606003805461029b90610897565b80601f01602080910402602001604051908101604052809291908181526020018280546102c790610897565b80156103125780601f106102e957610100808354040283529160200191610312565b820191905f5260205f20905b8154815290600101906020018083116102f557829003601f168201915b5050505050905090565b5f33610329818585610382565b60019150505b92915050565b5f33610342858285610394565b61034d858585610429565b506001949350505050565b610362828261049f565b5050565b60606004805461029b90610897565b5f33610329818585610429565b61038f83838360016104d3565b505050565b6001600160a01b038381165f908152600160209081526040808320938616835292905220545f198110156104235781811015610415576040517ffb8f41b20000000000000000000000000000000000000000000000000000000081526001600160a01b0384166004820152602481018290526044810183905260640161027e565b61042384848484035f6104d3565b50505050565b6001600160a01b03831661046b576040517f96c6fd1e0000000000000000000000000000000000000000000000000000000081525f600482015260240161027e565b6001600160a01b0382166104945760405163ec442f0560e01b81525f600482015260240161027e565b61038f8383836105d7565b6001600160a01b0382166104c85760405163ec442f0560e01b81525f600482015260240161027e565b6103625f83836105d7565b6001600160a01b038416610515576040517fe602df050000000000000000000000000000000000000000000000000000000081525f600482015260240161027e565b6001600160a01b038316610557576040517f94280d620000000000000000000000000000000000000000000000000000000081525f600482015260240161027e565b6001600160a01b038085165f908152600160209081526040808320938716835292905220829055801561042357826001600160a01b0316846001600160a01b03167f8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925846040516105c991815260200190565b60405180910390a350505050565b5f6001600160a01b03841615806105f557506001600160a01b038316155b610619576127106005548361060a91906108e3565b61061491906108fa565b61061b565b5f5b9050610631848461062c8486610919565b61063e565b801561042357610423845f835b6001600160a01b038316610668578060025f82825461065d919061092c565b909155506106f19050565b6001600160a01b0383165f90815260208190526040902054818110156106d3576040517fe450d38c0000000000000000000000000000000000000000000000000000000081526001600160a01b0385166004820152602481018290526044810183905260640161027e565b6001600160a01b0384165f9081526020819052604090209082900390555b6001600160a01b03821661070d5760028054829003905561072b565b6001600160a01b0382165f9081526020819052604090208054820190555b816001600160a01b0316836001600160a01b03167fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef8360405161077091815260200190565b60405180910390a3505050565b5f6020828403121561078d575f5ffd5b5035919050565b602081525f82518060208401528060208501604085015e5f604082850101526040601f19601f83011684010191505092915050565b80356001600160a01b03811681146107df575f5ffd5b919050565b5f5f604083850312156107f5575f5ffd5b6107fe836107c9565b946020939093013593505050565b5f5f5f6060848603121561081e575f5ffd5b610827846107c9565b9250610835602085016107c9565b929592945050506040919091013590565b5f60208284031215610856575f5ffd5b61085f826107c9565b9392505050565b5f5f60408385031215610877575f5ffd5b610880836107c9565b915061088e602084016107c9565b90509250929050565b600181811c908216806108ab57607f821691505b6020821081036108c957634e487b7160e01b5f52602260045260245ffd5b50919050565b634e487b7160e01b5f52601160045260245ffd5b808202811582820484141761032f5761032f6108cf565b5f8261091457634e487b7160e01b5f52601260045260245ffd5b500490565b8181038181111561032f5761032f6108cf565b8082018082111561032f5761032f6108cf56',
} as const;
