// Generated from sol/ by `npm run generate`. Do not edit.
export const LimitOrderProtocol = {
  abi: [
    {
      "inputs": [
        {
          "internalType": "string",
          "name": "serviceName",
          "type": "string"
        }
      ],
      "stateMutability": "nonpayable",
      "type": "constructor"
    },
    {
      "inputs": [],
      "name": "ECDSAInvalidSignature",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "uint256",
          "name": "length",
          "type": "uint256"
        }
      ],
      "name": "ECDSAInvalidSignatureLength",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "bytes32",
          "name": "s",
          "type": "bytes32"
        }
      ],
      "name": "ECDSAInvalidSignatureS",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "uint256",
          "name": "makingAmount",
          "type": "uint256"
        },
        {
          "internalType": "uint256",
          "name": "remainingMakingAmount",
          "type": "uint256"
        }
      ],
      "name": "InsufficientRemaining",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "uint256",
          "name": "length",
          "type": "uint256"
        }
      ],
      "name": "InvalidSignatureLength",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "signer",
          "type": "address"
        },
        {
          "internalType": "address",
          "name": "maker",
          "type": "address"
        }
      ],
      "name": "InvalidSigner",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "caller",
          "type": "address"
        },
        {
          "internalType": "address",
          "name": "maker",
          "type": "address"
        }
      ],
      "name": "NotMaker",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "uint256",
          "name": "expiresAt",
          "type": "uint256"
        }
      ],
      "name": "OrderExpired",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "bytes32",
          "name": "orderHash",
          "type": "bytes32"
        }
      ],
      "name": "OrderIsCancelled",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "uint256",
          "name": "orderNonce",
          "type": "uint256"
        },
        {
          "internalType": "uint256",
          "name": "makerNonce",
          "type": "uint256"
        }
      ],
      "name": "OrderNonceChanged",
      "type": "error"
    },
    {
      "inputs": [],
      "name": "ReentrancyGuardReentrantCall",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "token",
          "type": "address"
        }
      ],
      "name": "SafeERC20FailedOperation",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "taker",
          "type": "address"
        },
        {
          "internalType": "address",
          "name": "permittedTaker",
          "type": "address"
        }
      ],
      "name": "TakerNotPermitted",
      "type": "error"
    },
    {
      "inputs": [
        {
          "internalType": "uint256",
          "name": "takingAmount",
          "type": "uint256"
        },
        {
          "internalType": "uint256",
          "name": "maxTakingAmount",
          "type": "uint256"
        }
      ],
      "name": "TakingAmountTooHigh",
      "type": "error"
    },
    {
      "inputs": [],
      "name": "ZeroAmount",
      "type": "error"
    },
    {
      "anonymous": false,
      "inputs": [
        {
          "indexed": true,
          "internalType": "address",
          "name": "maker",
          "type": "address"
        },
        {
          "indexed": false,
          "internalType": "uint256",
          "name": "newNonce",
          "type": "uint256"
        }
      ],
      "name": "AllOrdersCancelled",
      "type": "event"
    },
    {
      "anonymous": false,
      "inputs": [],
      "name": "EIP712DomainChanged",
      "type": "event"
    },
    {
      "anonymous": false,
      "inputs": [
        {
          "indexed": true,
          "internalType": "address",
          "name": "maker",
          "type": "address"
        },
        {
          "indexed": true,
          "internalType": "bytes32",
          "name": "orderHash",
          "type": "bytes32"
        }
      ],
      "name": "OrderCancelled",
      "type": "event"
    },
    {
      "anonymous": false,
      "inputs": [
        {
          "indexed": true,
          "internalType": "address",
          "name": "maker",
          "type": "address"
        },
        {
          "indexed": true,
          "internalType": "bytes32",
          "name": "orderHash",
          "type": "bytes32"
        },
        {
          "indexed": false,
          "internalType": "address",
          "name": "taker",
          "type": "address"
        },
        {
          "indexed": false,
          "internalType": "uint256",
          "name": "makingAmount",
          "type": "uint256"
        },
        {
          "indexed": false,
          "internalType": "uint256",
          "name": "takingAmount",
          "type": "uint256"
        },
        {
          "indexed": false,
          "internalType": "uint256",
          "name": "remainingMakingAmount",
          "type": "uint256"
        }
      ],
      "name": "OrderFilled",
      "type": "event"
    },
    {
      "inputs": [],
      "name": "cancelAllOrders",
      "outputs": [
        {
          "internalType": "uint256",
          "name": "newNonce",
          "type": "uint256"
        }
      ],
      "stateMutability": "nonpayable",
      "type": "function"
    },
    {
      "inputs": [
        {
          "components": [
            {
              "internalType": "uint256",
              "name": "salt",
              "type": "uint256"
            },
            {
              "internalType": "uint256",
              "name": "nonce",
              "type": "uint256"
            },
            {
              "internalType": "uint256",
              "name": "expiresAt",
              "type": "uint256"
            },
            {
              "components": [
                {
                  "internalType": "address",
                  "name": "token",
                  "type": "address"
                },
                {
                  "internalType": "uint256",
                  "name": "amount",
                  "type": "uint256"
                }
              ],
              "internalType": "struct TokenAmount",
              "name": "making",
              "type": "tuple"
            },
            {
              "components": [
                {
                  "internalType": "address",
                  "name": "token",
                  "type": "address"
                },
                {
                  "internalType": "uint256",
                  "name": "amount",
                  "type": "uint256"
                }
              ],
              "internalType": "struct TokenAmount",
              "name": "taking",
              "type": "tuple"
            },
            {
              "internalType": "address",
              "name": "maker",
              "type": "address"
            },
            {
              "internalType": "address",
              "name": "permittedTaker",
              "type": "address"
            }
          ],
          "internalType": "struct Order",
          "name": "order",
          "type": "tuple"
        }
      ],
      "name": "cancelOrder",
      "outputs": [
        {
          "internalType": "bytes32",
          "name": "orderHash",
          "type": "bytes32"
        }
      ],
      "stateMutability": "nonpayable",
      "type": "function"
    },
    {
      "inputs": [
        {
          "internalType": "bytes32",
          "name": "orderHash",
          "type": "bytes32"
        }
      ],
      "name": "cancelled",
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
      "name": "domainSeparator",
      "outputs": [
        {
          "internalType": "bytes32",
          "name": "",
          "type": "bytes32"
        }
      ],
      "stateMutability": "view",
      "type": "function"
    },
    {
      "inputs": [],
      "name": "eip712Domain",
      "outputs": [
        {
          "internalType": "bytes1",
          "name": "fields",
          "type": "bytes1"
        },
        {
          "internalType": "string",
          "name": "name",
          "type": "string"
        },
        {
          "internalType": "string",
          "name": "version",
          "type": "string"
        },
        {
          "internalType": "uint256",
          "name": "chainId",
          "type": "uint256"
        },
        {
          "internalType": "address",
          "name": "verifyingContract",
          "type": "address"
        },
        {
          "internalType": "bytes32",
          "name": "salt",
          "type": "bytes32"
        },
        {
          "internalType": "uint256[]",
          "name": "extensions",
          "type": "uint256[]"
        }
      ],
      "stateMutability": "view",
      "type": "function"
    },
    {
      "inputs": [
        {
          "components": [
            {
              "internalType": "uint256",
              "name": "salt",
              "type": "uint256"
            },
            {
              "internalType": "uint256",
              "name": "nonce",
              "type": "uint256"
            },
            {
              "internalType": "uint256",
              "name": "expiresAt",
              "type": "uint256"
            },
            {
              "components": [
                {
                  "internalType": "address",
                  "name": "token",
                  "type": "address"
                },
                {
                  "internalType": "uint256",
                  "name": "amount",
                  "type": "uint256"
                }
              ],
              "internalType": "struct TokenAmount",
              "name": "making",
              "type": "tuple"
            },
            {
              "components": [
                {
                  "internalType": "address",
                  "name": "token",
                  "type": "address"
                },
                {
                  "internalType": "uint256",
                  "name": "amount",
                  "type": "uint256"
                }
              ],
              "internalType": "struct TokenAmount",
              "name": "taking",
              "type": "tuple"
            },
            {
              "internalType": "address",
              "name": "maker",
              "type": "address"
            },
            {
              "internalType": "address",
              "name": "permittedTaker",
              "type": "address"
            }
          ],
          "internalType": "struct Order",
          "name": "order",
          "type": "tuple"
        },
        {
          "internalType": "bytes",
          "name": "signature",
          "type": "bytes"
        },
        {
          "internalType": "uint256",
          "name": "makingAmount",
          "type": "uint256"
        },
        {
          "internalType": "uint256",
          "name": "maxTakingAmount",
          "type": "uint256"
        }
      ],
      "name": "fillOrder",
      "outputs": [
        {
          "internalType": "uint256",
          "name": "takingAmount",
          "type": "uint256"
        }
      ],
      "stateMutability": "nonpayable",
      "type": "function"
    },
    {
      "inputs": [
        {
          "internalType": "bytes32",
          "name": "orderHash",
          "type": "bytes32"
        }
      ],
      "name": "filled",
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
          "components": [
            {
              "internalType": "uint256",
              "name": "salt",
              "type": "uint256"
            },
            {
              "internalType": "uint256",
              "name": "nonce",
              "type": "uint256"
            },
            {
              "internalType": "uint256",
              "name": "expiresAt",
              "type": "uint256"
            },
            {
              "components": [
                {
                  "internalType": "address",
                  "name": "token",
                  "type": "address"
                },
                {
                  "internalType": "uint256",
                  "name": "amount",
                  "type": "uint256"
                }
              ],
              "internalType": "struct TokenAmount",
              "name": "making",
              "type": "tuple"
            },
            {
              "components": [
                {
                  "internalType": "address",
                  "name": "token",
                  "type": "address"
                },
                {
                  "internalType": "uint256",
                  "name": "amount",
                  "type": "uint256"
                }
              ],
              "internalType": "struct TokenAmount",
              "name": "taking",
              "type": "tuple"
            },
            {
              "internalType": "address",
              "name": "maker",
              "type": "address"
            },
            {
              "internalType": "address",
              "name": "permittedTaker",
              "type": "address"
            }
          ],
          "internalType": "struct Order",
          "name": "order",
          "type": "tuple"
        }
      ],
      "name": "hashOrder",
      "outputs": [
        {
          "internalType": "bytes32",
          "name": "",
          "type": "bytes32"
        }
      ],
      "stateMutability": "view",
      "type": "function"
    },
    {
      "inputs": [
        {
          "internalType": "address",
          "name": "maker",
          "type": "address"
        }
      ],
      "name": "nonce",
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
          "components": [
            {
              "internalType": "uint256",
              "name": "salt",
              "type": "uint256"
            },
            {
              "internalType": "uint256",
              "name": "nonce",
              "type": "uint256"
            },
            {
              "internalType": "uint256",
              "name": "expiresAt",
              "type": "uint256"
            },
            {
              "components": [
                {
                  "internalType": "address",
                  "name": "token",
                  "type": "address"
                },
                {
                  "internalType": "uint256",
                  "name": "amount",
                  "type": "uint256"
                }
              ],
              "internalType": "struct TokenAmount",
              "name": "making",
              "type": "tuple"
            },
            {
              "components": [
                {
                  "internalType": "address",
                  "name": "token",
                  "type": "address"
                },
                {
                  "internalType": "uint256",
                  "name": "amount",
                  "type": "uint256"
                }
              ],
              "internalType": "struct TokenAmount",
              "name": "taking",
              "type": "tuple"
            },
            {
              "internalType": "address",
              "name": "maker",
              "type": "address"
            },
            {
              "internalType": "address",
              "name": "permittedTaker",
              "type": "address"
            }
          ],
          "internalType": "struct Order",
          "name": "order",
          "type": "tuple"
        }
      ],
      "name": "remaining",
      "outputs": [
        {
          "internalType": "uint256",
          "name": "",
          "type": "uint256"
        }
      ],
      "stateMutability": "view",
      "type": "function"
    }
  ],
  bytecode: '0x60e060405234801561000f575f5ffd5b506040516118af3803806118af83398101604081905261002e9161014a565b8060405160200161003f91906101fa565b60408051601f198184030181529190525f61005a82826102c2565b50805160208201206080524660c052610108608080516040805180820182526002815261076360f41b60209182015281517f8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f81830152808301939093527f042d2d898454f584e9cded7d5fa57170aaeed0dd61e9c290d9b4f6e6933da157606084015246938301939093523060a0808401919091528151808403909101815260c09092019052805191012090565b60a0525060017f9b779b17422d0df92223018b32b4d1fa46e071723d6817e2486d003becc55f005550610380565b634e487b7160e01b5f52604160045260245ffd5b5f6020828403121561015a575f5ffd5b81516001600160401b0381111561016f575f5ffd5b8201601f8101841361017f575f5ffd5b80516001600160401b0381111561019857610198610136565b604051601f8201601f19908116603f011681016001600160401b03811182821017156101c6576101c6610136565b6040528181528282016020018610156101dd575f5ffd5b8160208401602083015e5f91810160200191909152949350505050565b5f82518060208501845e7f204c696d6974204f726465722050726f746f636f6c0000000000000000000000920191825250601501919050565b600181811c9082168061024757607f821691505b60208210810361026557634e487b7160e01b5f52602260045260245ffd5b50919050565b601f8211156102bd57828211156102bd57805f5260205f20601f840160051c602085101561029657505f5b90810190601f840160051c035f5b818110156102b9575f838201556001016102a4565b5050505b505050565b81516001600160401b038111156102db576102db610136565b6102ef816102e98454610233565b8461026b565b6020601f821160018114610321575f831561030a5750848201515b5f19600385901b1c1916600184901b178455610379565b5f84815260208120601f198516915b828110156103505787850151825560209485019460019092019101610330565b508482101561036d57868401515f19600387901b60f8161c191681555b505060018360011b0184555b5050505050565b60805160a05160c0516115056103aa5f395f6109e901525f610ac701525f610a5101526115055ff3fe608060405234801561000f575f5ffd5b50600436106100b9575f3560e01c806370ae92d211610072578063b780a24811610058578063b780a24814610189578063dd458a501461019c578063f698da25146101af575f5ffd5b806370ae92d21461014f57806384b0196e1461016e575f5ffd5b8063288cdc91116100a2578063288cdc91146100eb5780632ac126221461010a57806353b319451461013c575f5ffd5b8063028afabf146100bd5780630bba6c76146100d8575b5f5ffd5b6100c56101b7565b6040519081526020015b60405180910390f35b6100c56100e63660046111db565b610212565b6100c56100f93660046111f6565b60026020525f908152604090205481565b61012c6101183660046111f6565b60036020525f908152604090205460ff1681565b60405190151581526020016100cf565b6100c561014a3660046111db565b61025f565b6100c561015d36600461120d565b60016020525f908152604090205481565b610176610333565b6040516100cf9796959493929190611261565b6100c56101973660046111db565b610449565b6100c56101aa366004611313565b610571565b6100c56109e6565b335f908152600160205260408120805482906101d2906113bb565b918290555060405181815290915033907f83a782ac7424737a1190d4668474e765f07d603de0485a081dbc343ac1b020999060200160405180910390a290565b5f5f61021d8361025f565b5f8181526003602052604090205490915060ff16610256575f818152600260205260409020546102519060808501356113d3565b610258565b5f5b9392505050565b5f61032d7fcbff5a6f1209cd5548e398a2f8df2e79c3b6f0e664bcb04ce3fac26758f190b983356020850135604086013561029c60608801610ae9565b6102a88860a001610ae9565b6102b96101008a0160e08b0161120d565b6102cb6101208b016101008c0161120d565b6040805160208101999099528801969096526060870194909452608086019290925260a085015260c08401526001600160a01b0390811660e0840152166101008201526101200160405160208183030381529060405280519060200120610b5e565b92915050565b5f6060805f5f5f6060600f5f60405180604001604052806002815260200161076360f41b81525046305f5f1b5f67ffffffffffffffff811115610378576103786113e6565b6040519080825280602002602001820160405280156103a1578160200160208202803683370190505b508660f81b96508580546103b4906113fa565b80601f01602080910402602001604051908101604052809291908181526020018280546103e0906113fa565b801561042b5780601f106104025761010080835404028352916020019161042b565b820191905f5260205f20905b81548152906001019060200180831161040e57829003601f168201915b50505050509550965096509650965096509650965090919293949596565b5f61045b610100830160e0840161120d565b6001600160a01b0316336001600160a01b0316146104cf5733610485610100840160e0850161120d565b6040517f6268081b0000000000000000000000000000000000000000000000000000000081526001600160a01b039283166004820152911660248201526044015b60405180910390fd5b6104d88261025f565b5f8181526003602052604090205490915060ff161561050d57604051630694555d60e21b8152600481018290526024016104c6565b5f818152600360205260409020805460ff1916600117905580610537610100840160e0850161120d565b6001600160a01b03167f35974c4230d53fb4c6e8553fd900c88ba92747dbc689a79bcd6ba755cb93698560405160405180910390a3919050565b5f61057a610ba7565b5f61058d6101208801610100890161120d565b6001600160a01b0316141580156105be5750336105b26101208801610100890161120d565b6001600160a01b031614155b1561061b57336105d66101208801610100890161120d565b6040517f61aaaf820000000000000000000000000000000000000000000000000000000081526001600160a01b039283166004820152911660248201526044016104c6565b856040013542111561065f57604080517f1ad308dc0000000000000000000000000000000000000000000000000000000081529087013560048201526024016104c6565b82158061066e575060c0860135155b156106a5576040517f1f2a200500000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f6001816106ba6101008a0160e08b0161120d565b6001600160a01b03166001600160a01b031681526020019081526020015f2054905080876020013514610726576040517fadafe15a00000000000000000000000000000000000000000000000000000000815260208801356004820152602481018290526044016104c6565b5f6107308861025f565b5f8181526003602052604090205490915060ff161561076557604051630694555d60e21b8152600481018290526024016104c6565b5f610771828989610bd5565b90506107846101008a0160e08b0161120d565b6001600160a01b0316816001600160a01b0316146107f357806107ae6101008b0160e08c0161120d565b6040517f7ba5ffb50000000000000000000000000000000000000000000000000000000081526001600160a01b039283166004820152911660248201526044016104c6565b5f8281526002602052604081205461080f9060808c01356113d3565b905080871115610855576040517f4e47d2dc00000000000000000000000000000000000000000000000000000000815260048101889052602481018290526044016104c6565b61086a8760c08c013560808d01356001610cd1565b9450858511156108b0576040517fc3567cd600000000000000000000000000000000000000000000000000000000815260048101869052602481018790526044016104c6565b5f83815260026020526040812080548992906108cd90849061142c565b909155508390506108e56101008c0160e08d0161120d565b6001600160a01b03167fd5a64d7f9b11913473f30efae062fb1d8537bb906bd2cd86760f2ae922842e85338a8961091c82886113d3565b604080516001600160a01b039095168552602085019390935291830152606082015260800160405180910390a36109853361095e6101008d0160e08e0161120d565b878d60a0015f016020810190610974919061120d565b6001600160a01b0316929190610d13565b6109b06109996101008c0160e08d0161120d565b33898d6060015f016020810190610974919061120d565b505050506109dd60017f9b779b17422d0df92223018b32b4d1fa46e071723d6817e2486d003becc55f0055565b95945050505050565b5f7f00000000000000000000000000000000000000000000000000000000000000004614610ac457506040805180820182526002815261076360f41b60209182015281517f8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f818301527f0000000000000000000000000000000000000000000000000000000000000000818401527f042d2d898454f584e9cded7d5fa57170aaeed0dd61e9c290d9b4f6e6933da15760608201524660808201523060a0808301919091528351808303909101815260c0909101909252815191012090565b507f000000000000000000000000000000000000000000000000000000000000000090565b5f7f365a5df9ea67a8445aec5ebfdb93f4781cdafef3450a488895855b9dad9abc34610b18602084018461120d565b604080516020818101949094526001600160a01b03909216908201529083013560608201526080015b604051602081830303815290604052805190602001209050919050565b5f610b676109e6565b6040517f19010000000000000000000000000000000000000000000000000000000000006020820152602281019190915260428101839052606201610b41565b610baf610d68565b60027f9b779b17422d0df92223018b32b4d1fa46e071723d6817e2486d003becc55f0055565b5f6041829003610c56575f83836040818110610bf357610bf361143f565b919091013560f81c9150610c4e90508560028310610c115782610c1c565b610c1c83601b611453565b610c2960205f888a61146c565b610c3291611493565b610c4060406020898b61146c565b610c4991611493565b610dc5565b915050610258565b6040829003610c9c57610c9584610c7060205f868861146c565b610c7991611493565b610c8760406020878961146c565b610c9091611493565b610df1565b9050610258565b6040517f2c33b568000000000000000000000000000000000000000000000000000000008152600481018390526024016104c6565b5f610cfe610cde83610e1b565b8015610cf957505f8480610cf457610cf46114b0565b868809115b151590565b610d09868686610e47565b6109dd919061142c565b610d21848484846001610ef7565b610d62576040517f5274afe70000000000000000000000000000000000000000000000000000000081526001600160a01b03851660048201526024016104c6565b50505050565b7f9b779b17422d0df92223018b32b4d1fa46e071723d6817e2486d003becc55f0054600203610dc3576040517f3ee5aeb500000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b565b5f5f5f5f610dd588888888610f7d565b925092509250610de58282611045565b50909695505050505050565b5f5f5f5f610e0087878761114c565b925092509250610e108282611045565b509095945050505050565b5f6002826003811115610e3057610e306114c4565b610e3a91906114d8565b60ff166001149050919050565b5f5f5f610e548686611197565b91509150815f03610e7857838181610e6e57610e6e6114b0565b0492505050610258565b818411610e8f57610e8f60038515026011186111b3565b5f848688095f868103871696879004966002600389028118808a02820302808a02820302808a02820302808a02820302808a02820302808a02909103029181900381900460010185841190960395909502919093039390930492909217029150509392505050565b6040517f23b872dd000000000000000000000000000000000000000000000000000000005f8181526001600160a01b038781166004528616602452604485905291602083606481808c5af1925060015f51148316610f6c578383151615610f60573d5f823e3d81fd5b5f883b113d1516831692505b604052505f60605295945050505050565b5f80807f7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0841115610fb657505f9150600390508261103b565b604080515f808252602082018084528a905260ff891692820192909252606081018790526080810186905260019060a0016020604051602081039080840390855afa158015611007573d5f5f3e3d5ffd5b5050604051601f1901519150506001600160a01b03811661103257505f92506001915082905061103b565b92505f91508190505b9450945094915050565b5f826003811115611058576110586114c4565b03611061575050565b6001826003811115611075576110756114c4565b036110ac576040517ff645eedf00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b60028260038111156110c0576110c06114c4565b036110fa576040517ffce698f7000000000000000000000000000000000000000000000000000000008152600481018290526024016104c6565b600382600381111561110e5761110e6114c4565b03611148576040517fd78bce0c000000000000000000000000000000000000000000000000000000008152600481018290526024016104c6565b5050565b5f80807f7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff8416601b60ff86901c0161118688828985610f7d565b945094509450505093509350939050565b5f805f1983850993909202808410938190039390930393915050565b634e487b715f52806020526024601cfd5b5f61012082840312156111d5575f5ffd5b50919050565b5f61012082840312156111ec575f5ffd5b61025883836111c4565b5f60208284031215611206575f5ffd5b5035919050565b5f6020828403121561121d575f5ffd5b81356001600160a01b0381168114610258575f5ffd5b5f81518084528060208401602086015e5f602082860101526020601f19601f83011685010191505092915050565b7fff000000000000000000000000000000000000000000000000000000000000008816815260e060208201525f61129b60e0830189611233565b82810360408401526112ad8189611233565b606084018890526001600160a01b038716608085015260a0840186905283810360c0850152845180825260208087019350909101905f5b818110156113025783518352602093840193909201916001016112e4565b50909b9a5050505050505050505050565b5f5f5f5f5f6101808688031215611328575f5ffd5b61133287876111c4565b945061012086013567ffffffffffffffff81111561134e575f5ffd5b8601601f8101881361135e575f5ffd5b803567ffffffffffffffff811115611374575f5ffd5b886020828401011115611385575f5ffd5b9598602091909101975094956101408101359561016090910135945092505050565b634e487b7160e01b5f52601160045260245ffd5b5f600182016113cc576113cc6113a7565b5060010190565b8181038181111561032d5761032d6113a7565b634e487b7160e01b5f52604160045260245ffd5b600181811c9082168061140e57607f821691505b6020821081036111d557634e487b7160e01b5f52602260045260245ffd5b8082018082111561032d5761032d6113a7565b634e487b7160e01b5f52603260045260245ffd5b60ff818116838216019081111561032d5761032d6113a7565b5f5f8585111561147a575f5ffd5b83861115611486575f5ffd5b5050820193919092039150565b8035602083101561032d575f19602084900360031b1b1692915050565b634e487b7160e01b5f52601260045260245ffd5b634e487b7160e01b5f52602160045260245ffd5b5f60ff8316806114f657634e487b7160e01b5f52601260045260245ffd5b8060ff8416069150509291505056',
} as const;
