// Generated from sol/ by `npm run generate`. Do not edit.
export const RebasingToken = {
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
      "name": "index",
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
          "name": "index_",
          "type": "uint256"
        }
      ],
      "name": "setIndex",
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
  bytecode: '0x60a0604052670de0b6b3a764000060055534801561001b575f5ffd5b50604051610c5c380380610c5c83398101604081905261003a91610109565b8282828282600361004b8382610215565b5060046100588282610215565b50505060ff16608052506102d39350505050565b634e487b7160e01b5f52604160045260245ffd5b5f82601f83011261008f575f5ffd5b81516001600160401b038111156100a8576100a861006c565b604051601f8201601f19908116603f011681016001600160401b03811182821017156100d6576100d661006c565b6040528181528382016020018510156100ed575f5ffd5b8160208501602083015e5f918101602001919091529392505050565b5f5f5f6060848603121561011b575f5ffd5b83516001600160401b03811115610130575f5ffd5b61013c86828701610080565b602086015190945090506001600160401b03811115610159575f5ffd5b61016586828701610080565b925050604084015160ff8116811461017b575f5ffd5b809150509250925092565b600181811c9082168061019a57607f821691505b6020821081036101b857634e487b7160e01b5f52602260045260245ffd5b50919050565b601f821115610210578282111561021057805f5260205f20601f840160051c60208510156101e957505f5b90810190601f840160051c035f5b8181101561020c575f838201556001016101f7565b5050505b505050565b81516001600160401b0381111561022e5761022e61006c565b6102428161023c8454610186565b846101be565b6020601f821160018114610274575f831561025d5750848201515b5f19600385901b1c1916600184901b1784556102cc565b5f84815260208120601f198516915b828110156102a35787850151825560209485019460019092019101610283565b50848210156102c057868401515f19600387901b60f8161c191681555b505060018360011b0184555b5050505050565b6080516109716102eb5f395f61014d01526109715ff3fe608060405234801561000f575f5ffd5b50600436106100cf575f3560e01c806340a5737f1161007d57806395d89b411161005857806395d89b41146101b2578063a9059cbb146101ba578063dd62ed3e146101cd575f5ffd5b806340a5737f1461017757806340c10f191461018c57806370a082311461019f575f5ffd5b806323b872dd116100ad57806323b872dd1461012a5780632986c0e51461013d578063313ce56714610146575f5ffd5b806306fdde03146100d3578063095ea7b3146100f157806318160ddd14610114575b5f5ffd5b6100db610205565b6040516100e891906107af565b60405180910390f35b6101046100ff3660046107ff565b610295565b60405190151581526020016100e8565b61011c6102ae565b6040519081526020016100e8565b610104610138366004610827565b6102dd565b61011c60055481565b60405160ff7f00000000000000000000000000000000000000000000000000000000000000001681526020016100e8565b61018a610185366004610861565b610300565b005b61018a61019a3660046107ff565b610373565b61011c6101ad366004610878565b610381565b6100db6103c0565b6101046101c83660046107ff565b6103cf565b61011c6101db366004610898565b6001600160a01b039182165f90815260016020908152604080832093909416825291909152205490565b606060038054610214906108c9565b80601f0160208091040260200160405190810160405280929190818152602001828054610240906108c9565b801561028b5780601f106102625761010080835404028352916020019161028b565b820191905f5260205f20905b81548152906001019060200180831161026e57829003601f168201915b5050505050905090565b5f336102a28185856103dc565b60019150505b92915050565b5f670de0b6b3a76400006005546102c460025490565b6102ce9190610915565b6102d8919061092c565b905090565b5f336102ea8582856103ee565b6102f5858585610483565b506001949350505050565b5f811161036e576040517f08c379a000000000000000000000000000000000000000000000000000000000815260206004820152600d60248201527f696e646578206f66207a65726f0000000000000000000000000000000000000060448201526064015b60405180910390fd5b600555565b61037d82826104f9565b5050565b5f670de0b6b3a76400006005546103ac846001600160a01b03165f9081526020819052604090205490565b6103b69190610915565b6102a8919061092c565b606060048054610214906108c9565b5f336102a2818585610483565b6103e9838383600161052d565b505050565b6001600160a01b038381165f908152600160209081526040808320938616835292905220545f1981101561047d578181101561046f576040517ffb8f41b20000000000000000000000000000000000000000000000000000000081526001600160a01b03841660048201526024810182905260448101839052606401610365565b61047d84848484035f61052d565b50505050565b6001600160a01b0383166104c5576040517f96c6fd1e0000000000000000000000000000000000000000000000000000000081525f6004820152602401610365565b6001600160a01b0382166104ee5760405163ec442f0560e01b81525f6004820152602401610365565b6103e9838383610631565b6001600160a01b0382166105225760405163ec442f0560e01b81525f6004820152602401610365565b61037d5f8383610631565b6001600160a01b03841661056f576040517fe602df050000000000000000000000000000000000000000000000000000000081525f6004820152602401610365565b6001600160a01b0383166105b1576040517f94280d620000000000000000000000000000000000000000000000000000000081525f6004820152602401610365565b6001600160a01b038085165f908152600160209081526040808320938716835292905220829055801561047d57826001600160a01b0316846001600160a01b03167f8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b9258460405161062391815260200190565b60405180910390a350505050565b6103e98383600554600160055486670de0b6b3a76400006106529190610915565b61065c919061094b565b610666919061095e565b610670919061092c565b6001600160a01b03831661069a578060025f82825461068f919061094b565b909155506107239050565b6001600160a01b0383165f9081526020819052604090205481811015610705576040517fe450d38c0000000000000000000000000000000000000000000000000000000081526001600160a01b03851660048201526024810182905260448101839052606401610365565b6001600160a01b0384165f9081526020819052604090209082900390555b6001600160a01b03821661073f5760028054829003905561075d565b6001600160a01b0382165f9081526020819052604090208054820190555b816001600160a01b0316836001600160a01b03167fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef836040516107a291815260200190565b60405180910390a3505050565b602081525f82518060208401528060208501604085015e5f604082850101526040601f19601f83011684010191505092915050565b80356001600160a01b03811681146107fa575f5ffd5b919050565b5f5f60408385031215610810575f5ffd5b610819836107e4565b946020939093013593505050565b5f5f5f60608486031215610839575f5ffd5b610842846107e4565b9250610850602085016107e4565b929592945050506040919091013590565b5f60208284031215610871575f5ffd5b5035919050565b5f60208284031215610888575f5ffd5b610891826107e4565b9392505050565b5f5f604083850312156108a9575f5ffd5b6108b2836107e4565b91506108c0602084016107e4565b90509250929050565b600181811c908216806108dd57607f821691505b6020821081036108fb57634e487b7160e01b5f52602260045260245ffd5b50919050565b634e487b7160e01b5f52601160045260245ffd5b80820281158282048414176102a8576102a8610901565b5f8261094657634e487b7160e01b5f52601260045260245ffd5b500490565b808201808211156102a8576102a8610901565b818103818111156102a8576102a861090156',
} as const;
