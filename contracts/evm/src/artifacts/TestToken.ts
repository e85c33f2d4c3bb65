// Generated from sol/ by `npm run generate`. Do not edit.
export const TestToken = {
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
  bytecode: '0x60a060405234801561000f575f5ffd5b50604051610aa6380380610aa683398101604081905261002e916100f7565b8282600361003c8382610203565b5060046100498282610203565b50505060ff16608052506102c19050565b634e487b7160e01b5f52604160045260245ffd5b5f82601f83011261007d575f5ffd5b81516001600160401b038111156100965761009661005a565b604051601f8201601f19908116603f011681016001600160401b03811182821017156100c4576100c461005a565b6040528181528382016020018510156100db575f5ffd5b8160208501602083015e5f918101602001919091529392505050565b5f5f5f60608486031215610109575f5ffd5b83516001600160401b0381111561011e575f5ffd5b61012a8682870161006e565b602086015190945090506001600160401b03811115610147575f5ffd5b6101538682870161006e565b925050604084015160ff81168114610169575f5ffd5b809150509250925092565b600181811c9082168061018857607f821691505b6020821081036101a657634e487b7160e01b5f52602260045260245ffd5b50919050565b601f8211156101fe57828211156101fe57805f5260205f20601f840160051c60208510156101d757505f5b90810190601f840160051c035f5b818110156101fa575f838201556001016101e5565b5050505b505050565b81516001600160401b0381111561021c5761021c61005a565b6102308161022a8454610174565b846101ac565b6020601f821160018114610262575f831561024b5750848201515b5f19600385901b1c1916600184901b1784556102ba565b5f84815260208120601f198516915b828110156102915787850151825560209485019460019092019101610271565b50848210156102ae57868401515f19600387901b60f8161c191681555b505060018360011b0184555b5050505050565b6080516107cd6102d95f395f61012a01526107cd5ff3fe608060405234801561000f575f5ffd5b50600436106100b9575f3560e01c806340c10f191161007257806395d89b411161005857806395d89b4114610191578063a9059cbb14610199578063dd62ed3e146101ac575f5ffd5b806340c10f191461015457806370a0823114610169575f5ffd5b806318160ddd116100a257806318160ddd146100fe57806323b872dd14610110578063313ce56714610123575f5ffd5b806306fdde03146100bd578063095ea7b3146100db575b5f5ffd5b6100c56101e4565b6040516100d29190610673565b60405180910390f35b6100ee6100e93660046106c3565b610274565b60405190151581526020016100d2565b6002545b6040519081526020016100d2565b6100ee61011e3660046106eb565b61028d565b60405160ff7f00000000000000000000000000000000000000000000000000000000000000001681526020016100d2565b6101676101623660046106c3565b6102b0565b005b610102610177366004610725565b6001600160a01b03165f9081526020819052604090205490565b6100c56102be565b6100ee6101a73660046106c3565b6102cd565b6101026101ba366004610745565b6001600160a01b039182165f90815260016020908152604080832093909416825291909152205490565b6060600380546101f390610776565b80601f016020809104026020016040519081016040528092919081815260200182805461021f90610776565b801561026a5780601f106102415761010080835404028352916020019161026a565b820191905f5260205f20905b81548152906001019060200180831161024d57829003601f168201915b5050505050905090565b5f336102818185856102da565b60019150505b92915050565b5f3361029a8582856102ec565b6102a5858585610386565b506001949350505050565b6102ba82826103fc565b5050565b6060600480546101f390610776565b5f33610281818585610386565b6102e78383836001610430565b505050565b6001600160a01b038381165f908152600160209081526040808320938616835292905220545f198110156103805781811015610372576040517ffb8f41b20000000000000000000000000000000000000000000000000000000081526001600160a01b038416600482015260248101829052604481018390526064015b60405180910390fd5b61038084848484035f610430565b50505050565b6001600160a01b0383166103c8576040517f96c6fd1e0000000000000000000000000000000000000000000000000000000081525f6004820152602401610369565b6001600160a01b0382166103f15760405163ec442f0560e01b81525f6004820152602401610369565b6102e7838383610534565b6001600160a01b0382166104255760405163ec442f0560e01b81525f6004820152602401610369565b6102ba5f8383610534565b6001600160a01b038416610472576040517fe602df050000000000000000000000000000000000000000000000000000000081525f6004820152602401610369565b6001600160a01b0383166104b4576040517f94280d620000000000000000000000000000000000000000000000000000000081525f6004820152602401610369565b6001600160a01b038085165f908152600160209081526040808320938716835292905220829055801561038057826001600160a01b0316846001600160a01b03167f8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b9258460405161052691815260200190565b60405180910390a350505050565b6001600160a01b03831661055e578060025f82825461055391906107ae565b909155506105e79050565b6001600160a01b0383165f90815260208190526040902054818110156105c9576040517fe450d38c0000000000000000000000000000000000000000000000000000000081526001600160a01b03851660048201526024810182905260448101839052606401610369565b6001600160a01b0384165f9081526020819052604090209082900390555b6001600160a01b03821661060357600280548290039055610621565b6001600160a01b0382165f9081526020819052604090208054820190555b816001600160a01b0316836001600160a01b03167fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef8360405161066691815260200190565b60405180910390a3505050565b602081525f82518060208401528060208501604085015e5f604082850101526040601f19601f83011684010191505092915050565b80356001600160a01b03811681146106be575f5ffd5b919050565b5f5f604083850312156106d4575f5ffd5b6106dd836106a8565b946020939093013593505050565b5f5f5f606084860312156106fd575f5ffd5b610706846106a8565b9250610714602085016106a8565b929592945050506040919091013590565b5f60208284031215610735575f5ffd5b61073e826106a8565b9392505050565b5f5f60408385031215610756575f5ffd5b61075f836106a8565b915061076d602084016106a8565b90509250929050565b600181811c9082168061078a57607f821691505b6020821081036107a857634e487b7160e01b5f52602260045260245ffd5b50919050565b8082018082111561028757634e487b7160e01b5f52601160045260245ffd',
} as const;
