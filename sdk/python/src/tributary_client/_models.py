"""Written by scripts/sdk.ts from docs/openapi.json: change the contract, not this file."""

# fmt: off
# ruff: noqa

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, Union

from ._values import many, optional, to_date, to_date_or_datetime, to_datetime, to_decimal

ErrorCode = Union[Literal["account_not_found", "connection_not_found", "from_too_old", "insufficient_scope", "invalid_date_range", "invalid_params", "invalid_token", "missing_authorization", "not_found", "professional_required", "too_many_accounts", "too_many_consumers", "upstream_bad_request", "upstream_breaker_open", "wrong_endpoint_for_category"], str]
Provider = Union[Literal["fiskil", "akahu", "snaptrade", "up", "simplefin", "enablebanking"], str]
ConnectionCategory = Union[Literal["banking", "brokerage"], str]
ConnectionStatus = Union[Literal["active", "invalidated", "pending_mfa", "revoked"], str]
AccountType = Union[Literal["transaction", "savings", "credit-card", "loan", "investment", "term-deposit", "other"], str]
TradeType = Union[Literal["buy", "sell", "dividend", "split", "transfer", "fee", "interest", "other"], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadError:
    """Why a background read failed."""

    code: str
    """Why, as a code."""
    message: str
    """Why, in a sentence."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "ReadError":
        return cls(
            code=raw["code"],
            message=raw["message"],
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KindFreshness:
    """How fresh one kind of data is."""

    as_of: dt.datetime | None
    """When the institution last updated it, as the provider says; null: it does not."""
    read_at: dt.datetime | None
    """When this service last read it by itself; null: it reads it when you ask."""
    failed_at: dt.datetime | None
    """When the last background read failed; null: it did not."""
    error: ReadError | None
    """Why a background read failed."""
    next_read_at: dt.datetime | None
    """When this service reads it by itself again; null: not planned."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "KindFreshness":
        return cls(
            as_of=optional(to_datetime)(raw["asOf"]),
            read_at=optional(to_datetime)(raw["readAt"]),
            failed_at=optional(to_datetime)(raw["failedAt"]),
            error=optional(ReadError.of)(raw["error"]),
            next_read_at=optional(to_datetime)(raw["nextReadAt"]),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """By kind of data, those that the connection has. Only with `include=freshness`."""

    balances: KindFreshness | None = None
    """How fresh one kind of data is."""
    transactions: KindFreshness | None = None
    """How fresh one kind of data is."""
    holdings: KindFreshness | None = None
    """How fresh one kind of data is."""
    trades: KindFreshness | None = None
    """How fresh one kind of data is."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Freshness":
        return cls(
            balances=optional(KindFreshness.of)(raw.get("balances")),
            transactions=optional(KindFreshness.of)(raw.get("transactions")),
            holdings=optional(KindFreshness.of)(raw.get("holdings")),
            trades=optional(KindFreshness.of)(raw.get("trades")),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A link to one institution through one provider."""

    id: str
    """Id of the connection."""
    provider: Provider
    """Who supplies the data: AU banking, NZ banking, brokerage, Up (an AU bank)."""
    category: ConnectionCategory
    """What kind of institution the connection leads to."""
    institution_id: str
    """Opaque id of the institution at the provider."""
    institution_name: str
    """Display name of the institution."""
    institution_logo: str | None
    """URL of a logo."""
    status: ConnectionStatus
    """active; invalidated (consent or credentials expired: reconnect); pending_mfa (awaiting a second factor); revoked (consent withdrawn)."""
    last_refreshed_at: dt.datetime | None
    """Last successful refresh as the provider reports it; where it reports none, our last successful read. Null when nothing is known."""
    created_at: dt.datetime
    """When the connection was made."""
    freshness: Freshness | None = None
    """By kind of data, those that the connection has. Only with `include=freshness`."""
    consent_expires_at: dt.datetime | None = None
    """When the consent ends; null: the provider does not say. Only with `include=freshness`."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Connection":
        return cls(
            id=raw["id"],
            provider=raw["provider"],
            category=raw["category"],
            institution_id=raw["institutionId"],
            institution_name=raw["institutionName"],
            institution_logo=raw["institutionLogo"],
            status=raw["status"],
            last_refreshed_at=optional(to_datetime)(raw["lastRefreshedAt"]),
            created_at=to_datetime(raw["createdAt"]),
            freshness=optional(Freshness.of)(raw.get("freshness")),
            consent_expires_at=optional(to_datetime)(raw.get("consentExpiresAt")),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A bank or brokerage account."""

    id: str
    """Id of the account."""
    connection_id: str
    """Id of the connection."""
    provider: Provider | None
    """Who supplies the data: AU banking, NZ banking, brokerage, Up (an AU bank)."""
    name: str
    """Account name."""
    type: AccountType
    """Kind of account."""
    institution_name: str | None
    """Display name of the institution."""
    account_number: str | None
    """Always masked: `xxxx` and the last four characters."""
    currency: str
    """ISO 4217 currency code (brokerages: also the code of a coin)."""
    freshness: Freshness | None = None
    """By kind of data, those that the connection has. Only with `include=freshness`."""
    consent_expires_at: dt.datetime | None = None
    """When the consent ends; null: the provider does not say. Only with `include=freshness`."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Account":
        return cls(
            id=raw["id"],
            connection_id=raw["connectionId"],
            provider=raw["provider"],
            name=raw["name"],
            type=raw["type"],
            institution_name=raw["institutionName"],
            account_number=raw["accountNumber"],
            currency=raw["currency"],
            freshness=optional(Freshness.of)(raw.get("freshness")),
            consent_expires_at=optional(to_datetime)(raw.get("consentExpiresAt")),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pagination:
    """Where this page stands in the whole list."""

    total: int | None
    """Exact when hasMore is false; null when unknown."""
    limit: int
    """Effective page size: clamped from the request, or the rows of a page that was cut short (0 when the page cap came before any). The next page begins at offset + limit."""
    offset: int
    """Offset that produced the page."""
    has_more: bool
    """True if there is at least one more page: test this, not total."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Pagination":
        return cls(
            total=raw["total"],
            limit=raw["limit"],
            offset=raw["offset"],
            has_more=raw["hasMore"],
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Balances of one account; all three null when the provider does not return them."""

    account_id: str
    """Id of the account."""
    current_balance: Decimal | None
    """Current balance; negative when in debit. Exact decimal text: parse it as a decimal, never as a float."""
    available_balance: Decimal | None
    """Available balance. Exact decimal text: parse it as a decimal, never as a float."""
    currency: str | None
    """ISO 4217 currency code (brokerages: also the code of a coin)."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Balance":
        return cls(
            account_id=raw["accountId"],
            current_balance=optional(to_decimal)(raw["currentBalance"]),
            available_balance=optional(to_decimal)(raw["availableBalance"]),
            currency=raw["currency"],
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A bank transaction: posted, or pending where that was asked for."""

    id: str
    """Opaque id at the provider: any text, not a UUID. Of a pending row `pending_…`."""
    account_id: str
    """Id of the account."""
    account_name: str
    """Account name."""
    status: str
    """`posted`; with `includePending=true` also `pending`."""
    date: dt.date
    """The day in the user's time zone."""
    datetime: str | None
    """The raw ISO 8601 timestamp of the provider."""
    description: str
    """As the bank wrote it."""
    amount: Decimal
    """Negative for debit, positive for credit. Exact decimal text: parse it as a decimal, never as a float."""
    currency: str | None = None
    """Only with `include=currency`, where the amount is in another currency than the account's."""
    direction: str
    """Matches the sign of amount."""
    category: str | None
    """Category key, see /v1/categories."""
    merchant_name: str | None
    """Merchant, where known."""
    merchant_category_code: str | None
    """MCC, where known."""
    post_date: dt.date | None = None
    """The day of the posting; null: the provider does not say. Only with `includePending=true`."""
    post_datetime: str | None = None
    """The time of the posting as sent; null: only a day, or nothing. Only with `includePending=true`."""
    value_date: dt.date | None = None
    """The day from which it counts; null: the provider does not say. Only with `includePending=true`."""
    value_datetime: str | None = None
    """The time from which it counts as sent; null likewise. Only with `includePending=true`."""
    supersedes: str | None = None
    """Of a posted row: the id of the pending row that it replaced, where the provider says so or exactly one fits. Only with `includePending=true`."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Transaction":
        return cls(
            id=raw["id"],
            account_id=raw["accountId"],
            account_name=raw["accountName"],
            status=raw["status"],
            date=to_date(raw["date"]),
            datetime=raw["datetime"],
            description=raw["description"],
            amount=to_decimal(raw["amount"]),
            currency=raw.get("currency"),
            direction=raw["direction"],
            category=raw["category"],
            merchant_name=raw["merchantName"],
            merchant_category_code=raw["merchantCategoryCode"],
            post_date=optional(to_date)(raw.get("postDate")),
            post_datetime=raw.get("postDatetime"),
            value_date=optional(to_date)(raw.get("valueDate")),
            value_datetime=raw.get("valueDatetime"),
            supersedes=raw.get("supersedes"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A position in a brokerage account."""

    id: str
    """Opaque id."""
    account_id: str
    """Id of the account."""
    account_name: str
    """Account name."""
    symbol: str
    """Ticker."""
    name: str | None
    """Name of the security."""
    exchange: str | None
    """Exchange, as the provider names it."""
    currency: str
    """ISO 4217 currency code (brokerages: also the code of a coin)."""
    quantity: Decimal
    """Units held; fractional allowed, negative when short. Exact decimal text: parse it as a decimal, never as a float."""
    average_price: Decimal | None
    """Average cost per unit. Exact decimal text: parse it as a decimal, never as a float."""
    current_price: Decimal | None
    """Price per unit. Exact decimal text: parse it as a decimal, never as a float."""
    market_value: Decimal | None
    """Quantity times price. Exact decimal text: parse it as a decimal, never as a float."""
    unrealized_pnl: Decimal | None
    """Gain not yet realised. Exact decimal text: parse it as a decimal, never as a float."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Holding":
        return cls(
            id=raw["id"],
            account_id=raw["accountId"],
            account_name=raw["accountName"],
            symbol=raw["symbol"],
            name=raw["name"],
            exchange=raw["exchange"],
            currency=raw["currency"],
            quantity=to_decimal(raw["quantity"]),
            average_price=optional(to_decimal)(raw["averagePrice"]),
            current_price=optional(to_decimal)(raw["currentPrice"]),
            market_value=optional(to_decimal)(raw["marketValue"]),
            unrealized_pnl=optional(to_decimal)(raw["unrealizedPnl"]),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trade:
    """An executed trade or another movement of a brokerage account."""

    id: str
    """Deterministic and opaque; the format is not a stable contract."""
    account_id: str
    """Id of the account."""
    account_name: str
    """Account name."""
    symbol: str
    """Ticker; of cash movements the currency."""
    name: str | None
    """Name of the security."""
    type: TradeType
    """Kind of trade."""
    quantity: Decimal
    """Units, with the sign of the provider. Exact decimal text: parse it as a decimal, never as a float."""
    price: Decimal
    """Price per unit. Exact decimal text: parse it as a decimal, never as a float."""
    currency: str
    """ISO 4217 currency code (brokerages: also the code of a coin)."""
    total_amount: Decimal
    """Total, with the sign of the provider. Exact decimal text: parse it as a decimal, never as a float."""
    fees: Decimal | None
    """Fees. Exact decimal text: parse it as a decimal, never as a float."""
    trade_date: dt.date | dt.datetime
    """YYYY-MM-DD or a full ISO date-time, depending on the broker."""
    settlement_date: dt.date | dt.datetime | None
    """Same formats as tradeDate."""
    description: str | None
    """As the broker wrote it."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Trade":
        return cls(
            id=raw["id"],
            account_id=raw["accountId"],
            account_name=raw["accountName"],
            symbol=raw["symbol"],
            name=raw["name"],
            type=raw["type"],
            quantity=to_decimal(raw["quantity"]),
            price=to_decimal(raw["price"]),
            currency=raw["currency"],
            total_amount=to_decimal(raw["totalAmount"]),
            fees=optional(to_decimal)(raw["fees"]),
            trade_date=to_date_or_datetime(raw["tradeDate"]),
            settlement_date=optional(to_date_or_datetime)(raw["settlementDate"]),
            description=raw["description"],
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionEvent:
    """A posted bank transaction in an event."""

    id: str
    """Id of the transaction, as in /v1/transactions."""
    object: str
    amount: int
    """In the smallest unit of the currency, negative for debits. It has every digit and may exceed 2^53: do not parse it as a float."""
    currency: str
    """Currency code in lower case."""
    status: str
    description: str
    """The bank's text."""
    direction: str
    """Matches the sign of amount."""
    class_: str
    """Kind of transaction, as the provider names it; the values are not enumerated."""
    account_id: str
    """Id of the account, as in /v1/accounts."""
    account_name: str
    """Display name of the account."""
    account: str
    """Display name of the account."""
    local_date: dt.date
    """The day in the user's time zone."""
    transaction_date: str
    """ISO 8601: when it was made."""
    post_date: str
    """ISO 8601: when it was posted."""
    merchant_name: str | None
    """Merchant, where known."""
    category: str | None
    """Category key, see /v1/categories."""
    merchant_category_code: str | None
    """MCC, where known."""
    reference: str | None
    """Reference, where the provider has one."""
    extended_description: str | None
    """Further text of the bank, where there is one."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "TransactionEvent":
        return cls(
            id=raw["id"],
            object=raw["object"],
            amount=raw["amount"],
            currency=raw["currency"],
            status=raw["status"],
            description=raw["description"],
            direction=raw["direction"],
            class_=raw["class"],
            account_id=raw["account_id"],
            account_name=raw["account_name"],
            account=raw["account"],
            local_date=to_date(raw["local_date"]),
            transaction_date=raw["transaction_date"],
            post_date=raw["post_date"],
            merchant_name=raw["merchant_name"],
            category=raw["category"],
            merchant_category_code=raw["merchant_category_code"],
            reference=raw["reference"],
            extended_description=raw["extended_description"],
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTransactionEvent:
    """A pending bank transaction in an event."""

    id: str
    """Id of the pending row, as in /v1/transactions with includePending=true."""
    object: str
    amount: int
    """In the smallest unit of the currency, negative for debits. It has every digit and may exceed 2^53: do not parse it as a float."""
    currency: str
    """Currency code in lower case."""
    status: str
    description: str
    """The bank's text."""
    direction: str
    """Matches the sign of amount."""
    class_: str
    """Kind of transaction, as the provider names it; the values are not enumerated."""
    account_id: str
    """Id of the account, as in /v1/accounts."""
    account_name: str
    """Display name of the account."""
    account: str
    """Display name of the account."""
    local_date: dt.date
    """The day in the user's time zone."""
    transaction_date: str
    """ISO 8601: when it was made."""
    post_date: str | None
    """Null: it has not been posted."""
    merchant_name: str | None
    """Merchant, where known."""
    category: str | None
    """Category key, see /v1/categories."""
    merchant_category_code: str | None
    """MCC, where known."""
    reference: str | None
    """Reference, where the provider has one."""
    extended_description: str | None
    """Further text of the bank, where there is one."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "PendingTransactionEvent":
        return cls(
            id=raw["id"],
            object=raw["object"],
            amount=raw["amount"],
            currency=raw["currency"],
            status=raw["status"],
            description=raw["description"],
            direction=raw["direction"],
            class_=raw["class"],
            account_id=raw["account_id"],
            account_name=raw["account_name"],
            account=raw["account"],
            local_date=to_date(raw["local_date"]),
            transaction_date=raw["transaction_date"],
            post_date=raw["post_date"],
            merchant_name=raw["merchant_name"],
            category=raw["category"],
            merchant_category_code=raw["merchant_category_code"],
            reference=raw["reference"],
            extended_description=raw["extended_description"],
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EventMetadata:
    """The sync and the place of this event in it."""

    sync_run_id: str | None
    """The sync that found the rows. Null in a test event, in a replay and in an event about a connection."""
    new_count: int
    """New rows of the whole sync, in all of its chunks."""
    updated_count: int
    """Changed rows of the whole sync, in all of its chunks."""
    chunk: int
    """Number of this chunk, from 1."""
    total_chunks: int
    """Chunks of the sync."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "EventMetadata":
        return cls(
            sync_run_id=raw["sync_run_id"],
            new_count=raw["new_count"],
            updated_count=raw["updated_count"],
            chunk=raw["chunk"],
            total_chunks=raw["total_chunks"],
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionsSyncedRows:
    """The rows of an event."""

    new: tuple[TransactionEvent, ...]
    """Rows that no earlier event had."""
    updated: tuple[TransactionEvent, ...]
    """Rows of which a field has changed."""
    pending: tuple[PendingTransactionEvent, ...] | None = None
    """Pending rows that no earlier event had. Only for endpoints that ask for pending rows."""
    removed_pending: tuple[str, ...] | None = None
    """Ids of announced rows that are not pending any more: posted, or ended. Only for endpoints that ask for pending rows."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "TransactionsSyncedRows":
        return cls(
            new=many(TransactionEvent.of)(raw["new"]),
            updated=many(TransactionEvent.of)(raw["updated"]),
            pending=optional(many(PendingTransactionEvent.of))(raw.get("pending")),
            removed_pending=optional(many(str))(raw.get("removed_pending")),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionsSynced:
    """The event after a sync of a bank."""

    id: str
    """Id of the event, the same in every attempt and in a replay."""
    object: str
    type: str
    api_version: str
    """Changes when a field changes its meaning, not when one is added."""
    created: int
    """Epoch seconds."""
    data: TransactionsSyncedRows
    metadata: EventMetadata
    """The sync and the place of this event in it."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "TransactionsSynced":
        return cls(
            id=raw["id"],
            object=raw["object"],
            type=raw["type"],
            api_version=raw["api_version"],
            created=raw["created"],
            data=TransactionsSyncedRows.of(raw["data"]),
            metadata=EventMetadata.of(raw["metadata"]),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeEvent:
    """A trade in an event."""

    id: str
    """Id of the trade, as in /v1/trades; opaque."""
    object: str
    account_id: str
    """Id of the account, as in /v1/accounts."""
    account_name: str
    """Display name of the account."""
    symbol: str
    """Ticker."""
    name: str | None
    """Name of the security."""
    type: TradeType
    """Kind of trade."""
    quantity: Decimal
    """Number of units. Exact decimal text: parse it as a decimal, never as a float."""
    price: Decimal
    """Price per unit. Exact decimal text: parse it as a decimal, never as a float."""
    currency: str
    """Currency code in upper case."""
    total_amount: Decimal
    """Total amount. Exact decimal text: parse it as a decimal, never as a float."""
    fees: Decimal | None
    """Fees. Exact decimal text: parse it as a decimal, never as a float."""
    trade_date: dt.date | dt.datetime
    """YYYY-MM-DD or a full ISO datetime, depending on the broker."""
    settlement_date: dt.date | dt.datetime | None
    """As trade_date."""
    description: str | None
    """The broker's text."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "TradeEvent":
        return cls(
            id=raw["id"],
            object=raw["object"],
            account_id=raw["account_id"],
            account_name=raw["account_name"],
            symbol=raw["symbol"],
            name=raw["name"],
            type=raw["type"],
            quantity=to_decimal(raw["quantity"]),
            price=to_decimal(raw["price"]),
            currency=raw["currency"],
            total_amount=to_decimal(raw["total_amount"]),
            fees=optional(to_decimal)(raw["fees"]),
            trade_date=to_date_or_datetime(raw["trade_date"]),
            settlement_date=optional(to_date_or_datetime)(raw["settlement_date"]),
            description=raw["description"],
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TradesSyncedRows:
    """The rows of an event."""

    new: tuple[TradeEvent, ...]
    """Rows that no earlier event had."""
    updated: tuple[TradeEvent, ...]
    """Rows of which a field has changed."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "TradesSyncedRows":
        return cls(
            new=many(TradeEvent.of)(raw["new"]),
            updated=many(TradeEvent.of)(raw["updated"]),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TradesSynced:
    """The event after a sync of a broker."""

    id: str
    """Id of the event, the same in every attempt and in a replay."""
    object: str
    type: str
    api_version: str
    """Changes when a field changes its meaning, not when one is added."""
    created: int
    """Epoch seconds."""
    data: TradesSyncedRows
    metadata: EventMetadata
    """The sync and the place of this event in it."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "TradesSynced":
        return cls(
            id=raw["id"],
            object=raw["object"],
            type=raw["type"],
            api_version=raw["api_version"],
            created=raw["created"],
            data=TradesSyncedRows.of(raw["data"]),
            metadata=EventMetadata.of(raw["metadata"]),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionEvent:
    """A connection in an event, as the change left it."""

    id: str
    """Id of the connection, as in /v1/connections."""
    provider: Provider
    """Who supplies the data: AU banking, NZ banking, brokerage, Up (an AU bank)."""
    category: ConnectionCategory
    """What kind of institution the connection leads to."""
    institution_id: str
    """Opaque id of the institution at the provider."""
    institution_name: str
    """Display name of the institution."""
    institution_logo: str | None
    """URL of its logo, where there is one."""
    status: ConnectionStatus
    """active; invalidated (consent or credentials expired: reconnect); pending_mfa (awaiting a second factor); revoked (consent withdrawn)."""
    last_refreshed_at: dt.datetime | None
    """When it was last refreshed successfully."""
    created_at: dt.datetime
    """When it was linked."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "ConnectionEvent":
        return cls(
            id=raw["id"],
            provider=raw["provider"],
            category=raw["category"],
            institution_id=raw["institution_id"],
            institution_name=raw["institution_name"],
            institution_logo=raw["institution_logo"],
            status=raw["status"],
            last_refreshed_at=optional(to_datetime)(raw["last_refreshed_at"]),
            created_at=to_datetime(raw["created_at"]),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLinked:
    """A connection is new."""

    id: str
    """Id of the event, the same in every attempt and in a replay."""
    object: str
    type: str
    api_version: str
    """Changes when a field changes its meaning, not when one is added."""
    created: int
    """Epoch seconds."""
    data: ConnectionEvent
    """A connection in an event, as the change left it."""
    metadata: EventMetadata
    """The sync and the place of this event in it."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "ConnectionLinked":
        return cls(
            id=raw["id"],
            object=raw["object"],
            type=raw["type"],
            api_version=raw["api_version"],
            created=raw["created"],
            data=ConnectionEvent.of(raw["data"]),
            metadata=EventMetadata.of(raw["metadata"]),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiringConnectionEvent:
    """A connection whose consent ends soon."""

    id: str
    """Id of the connection, as in /v1/connections."""
    provider: Provider
    """Who supplies the data: AU banking, NZ banking, brokerage, Up (an AU bank)."""
    category: ConnectionCategory
    """What kind of institution the connection leads to."""
    institution_id: str
    """Opaque id of the institution at the provider."""
    institution_name: str
    """Display name of the institution."""
    institution_logo: str | None
    """URL of its logo, where there is one."""
    status: ConnectionStatus
    """active; invalidated (consent or credentials expired: reconnect); pending_mfa (awaiting a second factor); revoked (consent withdrawn)."""
    last_refreshed_at: dt.datetime | None
    """When it was last refreshed successfully."""
    created_at: dt.datetime
    """When it was linked."""
    expires_at: dt.datetime
    """When the consent ends, as the provider says."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "ExpiringConnectionEvent":
        return cls(
            id=raw["id"],
            provider=raw["provider"],
            category=raw["category"],
            institution_id=raw["institution_id"],
            institution_name=raw["institution_name"],
            institution_logo=raw["institution_logo"],
            status=raw["status"],
            last_refreshed_at=optional(to_datetime)(raw["last_refreshed_at"]),
            created_at=to_datetime(raw["created_at"]),
            expires_at=to_datetime(raw["expires_at"]),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionExpiring:
    """The consent ends in at most 30, 7 or 1 days."""

    id: str
    """Id of the event, the same in every attempt and in a replay."""
    object: str
    type: str
    api_version: str
    """Changes when a field changes its meaning, not when one is added."""
    created: int
    """Epoch seconds."""
    data: ExpiringConnectionEvent
    """A connection whose consent ends soon."""
    metadata: EventMetadata
    """The sync and the place of this event in it."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "ConnectionExpiring":
        return cls(
            id=raw["id"],
            object=raw["object"],
            type=raw["type"],
            api_version=raw["api_version"],
            created=raw["created"],
            data=ExpiringConnectionEvent.of(raw["data"]),
            metadata=EventMetadata.of(raw["metadata"]),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionInvalidated:
    """Consent or credentials expired: its owner has to reconnect."""

    id: str
    """Id of the event, the same in every attempt and in a replay."""
    object: str
    type: str
    api_version: str
    """Changes when a field changes its meaning, not when one is added."""
    created: int
    """Epoch seconds."""
    data: ConnectionEvent
    """A connection in an event, as the change left it."""
    metadata: EventMetadata
    """The sync and the place of this event in it."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "ConnectionInvalidated":
        return cls(
            id=raw["id"],
            object=raw["object"],
            type=raw["type"],
            api_version=raw["api_version"],
            created=raw["created"],
            data=ConnectionEvent.of(raw["data"]),
            metadata=EventMetadata.of(raw["metadata"]),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionRevoked:
    """The consent was withdrawn."""

    id: str
    """Id of the event, the same in every attempt and in a replay."""
    object: str
    type: str
    api_version: str
    """Changes when a field changes its meaning, not when one is added."""
    created: int
    """Epoch seconds."""
    data: ConnectionEvent
    """A connection in an event, as the change left it."""
    metadata: EventMetadata
    """The sync and the place of this event in it."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "ConnectionRevoked":
        return cls(
            id=raw["id"],
            object=raw["object"],
            type=raw["type"],
            api_version=raw["api_version"],
            created=raw["created"],
            data=ConnectionEvent.of(raw["data"]),
            metadata=EventMetadata.of(raw["metadata"]),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionRestored:
    """It was not active, and is active again."""

    id: str
    """Id of the event, the same in every attempt and in a replay."""
    object: str
    type: str
    api_version: str
    """Changes when a field changes its meaning, not when one is added."""
    created: int
    """Epoch seconds."""
    data: ConnectionEvent
    """A connection in an event, as the change left it."""
    metadata: EventMetadata
    """The sync and the place of this event in it."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "ConnectionRestored":
        return cls(
            id=raw["id"],
            object=raw["object"],
            type=raw["type"],
            api_version=raw["api_version"],
            created=raw["created"],
            data=ConnectionEvent.of(raw["data"]),
            metadata=EventMetadata.of(raw["metadata"]),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionRemoved:
    """It does not exist any more; `status` is the last one that it had."""

    id: str
    """Id of the event, the same in every attempt and in a replay."""
    object: str
    type: str
    api_version: str
    """Changes when a field changes its meaning, not when one is added."""
    created: int
    """Epoch seconds."""
    data: ConnectionEvent
    """A connection in an event, as the change left it."""
    metadata: EventMetadata
    """The sync and the place of this event in it."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "ConnectionRemoved":
        return cls(
            id=raw["id"],
            object=raw["object"],
            type=raw["type"],
            api_version=raw["api_version"],
            created=raw["created"],
            data=ConnectionEvent.of(raw["data"]),
            metadata=EventMetadata.of(raw["metadata"]),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """One of the sixteen fixed categories."""

    key: str
    """Same as Transaction.category."""
    label: str
    """Display name."""
    raw: Mapping[str, Any]
    """As it was received, with fields that this version does not know."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Category":
        return cls(
            key=raw["key"],
            label=raw["label"],
            raw=raw,
        )


WebhookEvent = Union[TransactionsSynced, TradesSynced, ConnectionLinked, ConnectionExpiring, ConnectionInvalidated, ConnectionRevoked, ConnectionRestored, ConnectionRemoved]
EVENTS: Mapping[str, Any] = {"transactions.synced": TransactionsSynced, "trades.synced": TradesSynced, "connection.linked": ConnectionLinked, "connection.expiring": ConnectionExpiring, "connection.invalidated": ConnectionInvalidated, "connection.revoked": ConnectionRevoked, "connection.restored": ConnectionRestored, "connection.removed": ConnectionRemoved}
