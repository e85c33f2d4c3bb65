// Generated from sol/ by `npm run generate`. Do not edit.
export const WrappedNative = {
  abi: [
    {
      "inputs": [
        {
          "internalType": "string",
          "name": "name_",
          "type": "string"
        },
        {
          "internalType": "string",
          "name": "symbol_",
          "type": "string"
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
          "name": "allowed",
          "type": "uint256"
        },
        {
          "internalType": "uint256",
          "name": "value",
          "type": "uint256"
        }
      ],
      "name": "InsufficientAllowance",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "account",
          "type": "address"
        },
        {
          "internalType": "uint256",
          "name": "balance",
          "type": "uint256"
        },
        {
          "internalType": "uint256",
          "name": "value",
          "type": "uint256"
        }
      ],
      "name": "InsufficientBalance",
      "type": "error"
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
      "name": "NativeTransferFailed",
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
          "name": "account",
          "type": "address"
        },
        {
          "indexed": false,
          "internalType": "uint256",
          "name": "value",
          "type": "uint256"
        }
      ],
      "name": "Deposit",
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
      "anonymous": false,
      "inputs": [
        {
          "indexed": true,
          "internalType": "address",
          "name": "account",
          "type": "address"
        },
        {
          "indexed": false,
          "internalType": "uint256",
          "name": "value",
          "type": "uint256"
        }
      ],
      "name": "Withdrawal",
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
      "name": "deposit",
      "outputs": [],
      "stateMutability": "payable",
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
    },
    {
      "inputs": [
        {
          "internalType": "uint256",
          "name": "value",
          "type": "uint256"
        }
      ],
      "name": "withdraw",
      "outputs": [],
      "stateMutability": "nonpayable",
      "type": "function"
    },
    {
      "stateMutability": "payable",
      "type": "receive"
    }
  ],
  bytecode: '0x608060405234801561000f575f5ffd5b50604051610b28380380610b2883398101604081905261002e916100eb565b5f61003983826101df565b50600161004682826101df565b50505061029d565b634e487b7160e01b5f52604160045260245ffd5b5f82601f830112610071575f5ffd5b81516001600160401b0381111561008a5761008a61004e565b604051601f8201601f19908116603f011681016001600160401b03811182821017156100b8576100b861004e565b6040528181528382016020018510156100cf575f5ffd5b8160208501602083015e5f918101602001919091529392505050565b5f5f604083850312156100fc575f5ffd5b82516001600160401b03811115610111575f5ffd5b61011d85828601610062565b602085015190935090506001600160401b0381111561013a575f5ffd5b61014685828601610062565b9150509250929050565b600181811c9082168061016457607f821691505b60208210810361018257634e487b7160e01b5f52602260045260245ffd5b50919050565b601f8211156101da57828211156101da57805f5260205f20601f840160051c60208510156101b357505f5b90810190601f840160051c035f5b818110156101d6575f838201556001016101c1565b5050505b505050565b81516001600160401b038111156101f8576101f861004e565b61020c816102068454610150565b84610188565b6020601f82116001811461023e575f83156102275750848201515b5f19600385901b1c1916600184901b178455610296565b5f84815260208120601f198516915b8281101561026d578785015182556020948501946001909201910161024d565b508482101561028a57868401515f19600387901b60f8161c191681555b505060018360011b0184555b5050505050565b61087e806102aa5f395ff3fe6080604052600436106100c6575f3560e01c806340c10f1911610071578063a9059cbb1161004c578063a9059cbb14610219578063d0e30db014610238578063dd62ed3e14610240575f5ffd5b806340c10f19146101bb57806370a08231146101da57806395d89b4114610205575f5ffd5b806323b872dd116100a157806323b872dd146101575780632e1a7d4d14610176578063313ce56714610195575f5ffd5b806306fdde03146100db578063095ea7b31461010557806318160ddd14610134575f5ffd5b366100d7576100d53334610276565b005b5f5ffd5b3480156100e6575f5ffd5b506100ef6102fc565b6040516100fc91906106f9565b60405180910390f35b348015610110575f5ffd5b5061012461011f366004610749565b610387565b60405190151581526020016100fc565b34801561013f575f5ffd5b5061014960025481565b6040519081526020016100fc565b348015610162575f5ffd5b50610124610171366004610771565b6103f3565b348015610181575f5ffd5b506100d56101903660046107ab565b6104bd565b3480156101a0575f5ffd5b506101a9601281565b60405160ff90911681526020016100fc565b3480156101c6575f5ffd5b506100d56101d5366004610749565b61059e565b3480156101e5575f5ffd5b506101496101f43660046107c2565b60036020525f908152604090205481565b348015610210575f5ffd5b506100ef6105a8565b348015610224575f5ffd5b50610124610233366004610749565b6105b5565b6100d56105c8565b34801561024b575f5ffd5b5061014961025a3660046107db565b600460209081525f928352604080842090915290825290205481565b6001600160a01b0382165f908152600360205260408120805483929061029d908490610820565b925050819055508060025f8282546102b59190610820565b90915550506040518181526001600160a01b038316907fe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c9060200160405180910390a25050565b5f805461030890610833565b80601f016020809104026020016040519081016040528092919081815260200182805461033490610833565b801561037f5780601f106103565761010080835404028352916020019161037f565b820191905f5260205f20905b81548152906001019060200180831161036257829003601f168201915b505050505081565b335f8181526004602090815260408083206001600160a01b038716808552925280832085905551919290917f8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925906103e19086815260200190565b60405180910390a35060015b92915050565b6001600160a01b0383165f81815260046020908152604080832033808552925282205491921480159061042757505f198114155b156104a9578281101561047b576040517f192b9e4e00000000000000000000000000000000000000000000000000000000815233600482015260248101829052604481018490526064015b60405180910390fd5b610485838261086b565b6001600160a01b0386165f9081526004602090815260408083203384529091529020555b6104b48585856105d4565b95945050505050565b6104c73382610664565b8060025f8282546104d8919061086b565b909155505060405181815233907f7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b659060200160405180910390a26040515f90339083908381818185875af1925050503d805f8114610551576040519150601f19603f3d011682016040523d82523d5f602084013e610556565b606091505b505090508061059a576040517fa5b05eec00000000000000000000000000000000000000000000000000000000815233600482015260248101839052604401610472565b5050565b61059a8282610276565b6001805461030890610833565b5f6105c13384846105d4565b9392505050565b6105d23334610276565b565b5f6105df8483610664565b6001600160a01b0383165f9081526003602052604081208054849290610606908490610820565b92505081905550826001600160a01b0316846001600160a01b03167fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef8460405161065291815260200190565b60405180910390a35060019392505050565b6001600160a01b0382165f90815260036020526040902054818110156106cf576040517fdb42144d0000000000000000000000000000000000000000000000000000000081526001600160a01b03841660048201526024810182905260448101839052606401610472565b6106d9828261086b565b6001600160a01b039093165f908152600360205260409020929092555050565b602081525f82518060208401528060208501604085015e5f604082850101526040601f19601f83011684010191505092915050565b80356001600160a01b0381168114610744575f5ffd5b919050565b5f5f6040838503121561075a575f5ffd5b6107638361072e565b946020939093013593505050565b5f5f5f60608486031215610783575f5ffd5b61078c8461072e565b925061079a6020850161072e565b929592945050506040919091013590565b5f602082840312156107bb575f5ffd5b5035919050565b5f602082840312156107d2575f5ffd5b6105c18261072e565b5f5f604083850312156107ec575f5ffd5b6107f58361072e565b91506108036020840161072e565b90509250929050565b634e487b7160e01b5f52601160045260245ffd5b808201808211156103ed576103ed61080c565b600181811c9082168061084757607f821691505b60208210810361086557634e487b7160e01b5f52602260045260245ffd5b50919050565b818103818111156103ed576103ed61080c56',
} as const;
