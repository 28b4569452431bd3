// The methods of the service `wallet`: proto/stadium/v1/wallet.proto.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/empty.pb.h>
#include <stadium/v1/wallet.pb.h>

#include <stadium/method.hpp>

namespace stadium::wallet_methods {

using google::protobuf::Empty;

// All of them may be sent again: a transfer has an id, and the others change nothing twice.
inline constexpr auto declare =
    unary<v1::DeclareAssetRequest, Empty>("wallet/Declare").idempotent();
inline constexpr auto open = unary<v1::OpenRequest, v1::Opened>("wallet/Open").idempotent();
inline constexpr auto change = unary<v1::ChangeRequest, Empty>("wallet/Change").idempotent();
inline constexpr auto transfer =
    unary<v1::TransferRequest, v1::TransferOutcomes>("wallet/Transfer").idempotent();
inline constexpr auto together =
    unary<v1::TogetherRequest, v1::TogetherOutcomes>("wallet/Together").idempotent();
inline constexpr auto wallet =
    unary<v1::WalletsNamed, v1::AccountList>("wallet/Wallet").idempotent();
inline constexpr auto accounts =
    unary<v1::AccountsRequest, v1::AccountList>("wallet/Accounts").idempotent();
inline constexpr auto holds = unary<v1::HoldsRequest, v1::HoldList>("wallet/Holds").idempotent();
inline constexpr auto find = unary<v1::TransferNamed, v1::TransferView>("wallet/Find").idempotent();
inline constexpr auto history =
    unary<v1::EntriesRequest, v1::EntryPage>("wallet/History").idempotent();
inline constexpr auto statement =
    stream<v1::EntriesRequest, v1::Entry>("wallet/Statement").idempotent();
inline constexpr auto balance_at =
    unary<v1::BalanceAtRequest, v1::Balance>("wallet/BalanceAt").idempotent();
inline constexpr auto assets =
    unary<v1::AssetsRequest, v1::AssetList>("wallet/Assets").idempotent();
inline constexpr auto roots = unary<v1::RootsRequest, v1::RootList>("wallet/Roots").idempotent();

}  // namespace stadium::wallet_methods
