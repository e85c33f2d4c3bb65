// Generated from sol/ by `npm run generate`. Do not edit.
export const IllBehavedToken = {
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
      "inputs": [],
      "name": "Paused",
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
      "inputs": [],
      "name": "allowanceAnswer",
      "outputs": [
        {
          "internalType": "enum IllBehavedToken.Answer",
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
      "inputs": [],
      "name": "balanceAnswer",
      "outputs": [
        {
          "internalType": "enum IllBehavedToken.Answer",
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
      "name": "callbackResult",
      "outputs": [
        {
          "internalType": "bytes",
          "name": "",
          "type": "bytes"
        }
      ],
      "stateMutability": "view",
      "type": "function"
    },
    {
      "inputs": [],
      "name": "callbackSucceeded",
      "outputs": [
        {
          "internalType": "bool",
          "name": "",
          "type": "bool"
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
      "inputs": [
        {
          "internalType": "enum IllBehavedToken.Answer",
          "name": "answer",
          "type": "uint8"
        }
      ],
      "name": "setAllowanceAnswer",
      "outputs": [],
      "stateMutability": "nonpayable",
      "type": "function"
    },
    {
      "inputs": [
        {
          "internalType": "enum IllBehavedToken.Answer",
          "name": "answer",
          "type": "uint8"
        }
      ],
      "name": "setBalanceAnswer",
      "outputs": [],
      "stateMutability": "nonpayable",
      "type": "function"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "target",
          "type": "address"
        },
        {
          "internalType": "bytes",
          "name": "data",
          "type": "bytes"
        }
      ],
      "name": "setCallback",
      "outputs": [],
      "stateMutability": "nonpayable",
      "type": "function"
    },
    {
      "inputs": [
        {
          "internalType": "bool",
          "name": "value",
          "type": "bool"
        }
      ],
      "name": "setTransfersReturnFalse",
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
    },
    {
      "inputs": [],
      "name": "transfersReturnFalse",
      "outputs": [
        {
          "internalType": "bool",
          "name": "",
          "type": "bool"
        }
      ],
      "stateMutability": "view",
      "type": "function"
    }
  ],
  bytecode: '0x60a060405234801561000f575f5ffd5b5060405161121e38038061121e83398101604081905261002e916100fd565b8282828282600361003f8382610209565b50600461004c8282610209565b50505060ff16608052506102c79350505050565b634e487b7160e01b5f52604160045260245ffd5b5f82601f830112610083575f5ffd5b81516001600160401b0381111561009c5761009c610060565b604051601f8201601f19908116603f011681016001600160401b03811182821017156100ca576100ca610060565b6040528181528382016020018510156100e1575f5ffd5b8160208501602083015e5f918101602001919091529392505050565b5f5f5f6060848603121561010f575f5ffd5b83516001600160401b03811115610124575f5ffd5b61013086828701610074565b602086015190945090506001600160401b0381111561014d575f5ffd5b61015986828701610074565b925050604084015160ff8116811461016f575f5ffd5b809150509250925092565b600181811c9082168061018e57607f821691505b6020821081036101ac57634e487b7160e01b5f52602260045260245ffd5b50919050565b601f821115610204578282111561020457805f5260205f20601f840160051c60208510156101dd57505f5b90810190601f840160051c035f5b81811015610200575f838201556001016101eb565b5050505b505050565b81516001600160401b0381111561022257610222610060565b61023681610230845461017a565b846101b2565b6020601f821160018114610268575f83156102515750848201515b5f19600385901b1c1916600184901b1784556102c0565b5f84815260208120601f198516915b828110156102975787850151825560209485019460019092019101610277565b50848210156102b457868401515f19600387901b60f8161c191681555b505060018360011b0184555b5050505050565b608051610f3f6102df5f395f6101c20152610f3f5ff3fe608060405234801561000f575f5ffd5b5060043610610149575f3560e01c80634a5ca31e116100c7578063a9059cbb1161007d578063cf43d59d11610063578063cf43d59d146102b2578063dd62ed3e146102cc578063e2d6f213146102df575f5ffd5b8063a9059cbb1461028c578063b07bfee31461029f575f5ffd5b806370a08231116100ad57806370a082311461025e5780638c6c55f51461027157806395d89b4114610284575f5ffd5b80634a5ca31e146102385780635baeada01461024b575f5ffd5b806323b872dd1161011c5780633864ebd7116101025780633864ebd7146101ec57806340c10f1914610218578063415aeaa51461022b575f5ffd5b806323b872dd146101a8578063313ce567146101bb575f5ffd5b806306fdde031461014d578063095ea7b31461016b5780630baa7c161461018e57806318160ddd14610196575b5f5ffd5b6101556102f1565b6040516101629190610ac6565b60405180910390f35b61017e610179366004610af3565b610381565b6040519015158152602001610162565b61015561039a565b6002545b604051908152602001610162565b61017e6101b6366004610b1b565b610426565b60405160ff7f0000000000000000000000000000000000000000000000000000000000000000168152602001610162565b6102166101fa366004610b55565b60058054911515620100000262ff000019909216919091179055565b005b610216610226366004610af3565b6104fb565b60075461017e9060ff1681565b610216610246366004610b74565b610509565b610216610259366004610bf2565b610555565b61019a61026c366004610c10565b61057d565b60055461017e9062010000900460ff1681565b6101556105a5565b61017e61029a366004610af3565b6105b4565b6102166102ad366004610bf2565b6105c1565b6005546102bf9060ff1681565b6040516101629190610c3d565b61019a6102da366004610c63565b6105df565b6005546102bf90610100900460ff1681565b60606003805461030090610c94565b80601f016020809104026020016040519081016040528092919081815260200182805461032c90610c94565b80156103775780601f1061034e57610100808354040283529160200191610377565b820191905f5260205f20905b81548152906001019060200180831161035a57829003601f168201915b5050505050905090565b5f3361038e81858561061b565b60019150505b92915050565b600880546103a790610c94565b80601f01602080910402602001604051908101604052809291908181526020018280546103d390610c94565b801561041e5780601f106103f55761010080835404028352916020019161041e565b820191905f5260205f20905b81548152906001019060200180831161040157829003601f168201915b505050505081565b6005545f90630100000090046001600160a01b0316156104ce5760055460405163010000009091046001600160a01b03169061046490600690610ccc565b5f604051808303815f865af19150503d805f811461049d576040519150601f19603f3d011682016040523d82523d5f602084013e6104a2565b606091505b5060075f60086104b28482610da7565b508391906101000a81548160ff02191690831515021790555050505b60055462010000900460ff16156104e657505f6104f4565b6104f184848461062d565b90505b9392505050565b6105058282610650565b5050565b600580547fffffffffffffffffff0000000000000000000000000000000000000000ffffff1663010000006001600160a01b03861602179055600661054f828483610e66565b50505050565b6005805482919061ff001916610100838381111561057557610575610c29565b021790555050565b6001600160a01b0381165f908152602081905260408120546005546103949060ff1682610689565b60606004805461030090610c94565b5f3361038e818585610768565b6005805482919060ff19166001838381111561057557610575610c29565b6001600160a01b038281165f9081526001602090815260408083209385168352929052908120546005546104f490610100900460ff1682610689565b61062883838360016107de565b505050565b5f3361063a8582856108e2565b610645858585610768565b506001949350505050565b6001600160a01b03821661067e5760405163ec442f0560e01b81525f60048201526024015b60405180910390fd5b6105055f8383610959565b5f82600581111561069c5761069c610c29565b036106a5575050565b60018260058111156106b9576106b9610c29565b036106f0576040517f9e87fac800000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f600283600581111561070557610705610c29565b1461073457600383600581111561071e5761071e610c29565b1461072c57620f4240610737565b611001610737565b601f5b62ffffff1690505f600584600581111561075357610753610c29565b149050801561075e57fe5b6040518381528281f35b6001600160a01b0383166107aa576040517f96c6fd1e0000000000000000000000000000000000000000000000000000000081525f6004820152602401610675565b6001600160a01b0382166107d35760405163ec442f0560e01b81525f6004820152602401610675565b610628838383610959565b6001600160a01b038416610820576040517fe602df050000000000000000000000000000000000000000000000000000000081525f6004820152602401610675565b6001600160a01b038316610862576040517f94280d620000000000000000000000000000000000000000000000000000000081525f6004820152602401610675565b6001600160a01b038085165f908152600160209081526040808320938716835292905220829055801561054f57826001600160a01b0316846001600160a01b03167f8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925846040516108d491815260200190565b60405180910390a350505050565b5f6108ed84846105df565b90505f1981101561054f578181101561094b576040517ffb8f41b20000000000000000000000000000000000000000000000000000000081526001600160a01b03841660048201526024810182905260448101839052606401610675565b61054f84848484035f6107de565b6001600160a01b038316610983578060025f8282546109789190610f20565b90915550610a0c9050565b6001600160a01b0383165f90815260208190526040902054818110156109ee576040517fe450d38c0000000000000000000000000000000000000000000000000000000081526001600160a01b03851660048201526024810182905260448101839052606401610675565b6001600160a01b0384165f9081526020819052604090209082900390555b6001600160a01b038216610a2857600280548290039055610a46565b6001600160a01b0382165f9081526020819052604090208054820190555b816001600160a01b0316836001600160a01b03167fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef83604051610a8b91815260200190565b60405180910390a3505050565b5f81518084528060208401602086015e5f602082860101526020601f19601f83011685010191505092915050565b602081525f6104f46020830184610a98565b80356001600160a01b0381168114610aee575f5ffd5b919050565b5f5f60408385031215610b04575f5ffd5b610b0d83610ad8565b946020939093013593505050565b5f5f5f60608486031215610b2d575f5ffd5b610b3684610ad8565b9250610b4460208501610ad8565b929592945050506040919091013590565b5f60208284031215610b65575f5ffd5b813580151581146104f4575f5ffd5b5f5f5f60408486031215610b86575f5ffd5b610b8f84610ad8565b9250602084013567ffffffffffffffff811115610baa575f5ffd5b8401601f81018613610bba575f5ffd5b803567ffffffffffffffff811115610bd0575f5ffd5b866020828401011115610be1575f5ffd5b939660209190910195509293505050565b5f60208284031215610c02575f5ffd5b8135600681106104f4575f5ffd5b5f60208284031215610c20575f5ffd5b6104f482610ad8565b634e487b7160e01b5f52602160045260245ffd5b6020810160068310610c5d57634e487b7160e01b5f52602160045260245ffd5b91905290565b5f5f60408385031215610c74575f5ffd5b610c7d83610ad8565b9150610c8b60208401610ad8565b90509250929050565b600181811c90821680610ca857607f821691505b602082108103610cc657634e487b7160e01b5f52602260045260245ffd5b50919050565b5f5f8354610cd981610c94565b600182168015610cf05760018114610d0557610d32565b60ff1983168652811515820286019350610d32565b865f5260205f205f5b83811015610d2a57815488820152600190910190602001610d0e565b505081860193505b509195945050505050565b634e487b7160e01b5f52604160045260245ffd5b601f821115610628578282111561062857805f5260205f20601f840160051c6020851015610d7c57505f5b90810190601f840160051c035f5b81811015610d9f575f83820155600101610d8a565b505050505050565b815167ffffffffffffffff811115610dc157610dc1610d3d565b610dd581610dcf8454610c94565b84610d51565b6020601f821160018114610e07575f8315610df05750848201515b5f19600385901b1c1916600184901b178455610e5f565b5f84815260208120601f198516915b82811015610e365787850151825560209485019460019092019101610e16565b5084821015610e5357868401515f19600387901b60f8161c191681555b505060018360011b0184555b5050505050565b67ffffffffffffffff831115610e7e57610e7e610d3d565b610e9283610e8c8354610c94565b83610d51565b5f601f841160018114610ec3575f8515610eac5750838201355b5f19600387901b1c1916600186901b178355610e5f565b5f83815260208120601f198716915b82811015610ef25786850135825560209485019460019092019101610ed2565b5086821015610f0e575f1960f88860031b161c19848701351681555b505060018560011b0183555050505050565b8082018082111561039457634e487b7160e01b5f52601160045260245ffd',
} as const;
