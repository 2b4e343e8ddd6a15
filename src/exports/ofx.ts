/**
 * OFX 1.02 (SGML), which GnuCash, KMyMoney, HomeBank and others read: one statement of a bank account or a
 * card. `FITID` is the transaction's id, by which programs know rows that they have read before.
 */
import { hash } from 'node:crypto'
import type { AccountType, Transaction } from '#contract/resources.ts'
import { toMidday } from '#kernel/midday.ts'
import { type Exporter, type ExportSubject, UnfitRowError } from './exporter.ts'

const header = [
  'OFXHEADER:100',
  'DATA:OFXSGML',
  'VERSION:102',
  'SECURITY:NONE',
  'ENCODING:UTF-8',
  'CHARSET:NONE',
  'COMPRESSION:NONE',
  'OLDFILEUID:NONE',
  'NEWFILEUID:NONE',
]
/** OFX 1.02, chapters 3 and 11. */
const maxLengths = { bankId: 9, accountId: 22, id: 255, name: 32, memo: 255 }

const bankTypes: Readonly<Partial<Record<AccountType, string>>> = {
  savings: 'SAVINGS',
  'term-deposit': 'SAVINGS',
  loan: 'CREDITLINE',
}

export function makeOfx(subject: ExportSubject): Exporter<Transaction> {
  const { account, zone, now, balanceAt = now, currency: shown = account.currency } = subject
  const isCard = account.type === 'credit-card'
  const names = isCard
    ? { set: 'CREDITCARDMSGSRSV1', response: 'CCSTMTTRNRS', statement: 'CCSTMTRS' }
    : { set: 'BANKMSGSRSV1', response: 'STMTTRNRS', statement: 'STMTRS' }
  const toStamp = (day: string) => stamp(toMidday(day, zone) * 1000)
  // A UUID is longer; what is left of its digits still tells a person's accounts apart.
  const accountId = account.id.replaceAll('-', '').slice(0, maxLengths.accountId)
  const owner = isCard
    ? ['<CCACCTFROM>', `<ACCTID>${accountId}`, '</CCACCTFROM>']
    : [
        '<BANKACCTFROM>',
        `<BANKID>${toValue(cut(account.institutionName ?? 'bank', maxLengths.bankId))}`,
        `<ACCTID>${accountId}`,
        `<ACCTTYPE>${bankTypes[account.type] ?? 'CHECKING'}`,
        '</BANKACCTFROM>',
      ]
  const status = ['<STATUS>', '<CODE>0', '<SEVERITY>INFO', '</STATUS>']
  return {
    begin: () =>
      lines([
        ...header,
        '',
        '<OFX>',
        ...['<SIGNONMSGSRSV1>', '<SONRS>', ...status, `<DTSERVER>${stamp(now)}`, '<LANGUAGE>ENG'],
        ...['</SONRS>', '</SIGNONMSGSRSV1>'],
        ...[
          `<${names.set}>`,
          `<${names.response}>`,
          '<TRNUID>0',
          ...status,
          `<${names.statement}>`,
        ],
        `<CURDEF>${shown}`,
        ...owner,
        '<BANKTRANLIST>',
        `<DTSTART>${toStamp(firstDayOf(subject))}`,
        `<DTEND>${toStamp(lastDayOf(subject))}`,
      ]),
    add(rows) {
      for (const { currency = account.currency } of rows) {
        // The element for it demands a rate (OFX 1.02, chapter 5), which is not known.
        if (currency !== shown) throw new UnfitRowError(describeOther(currency, shown))
      }
      return rows.map((row) => lines(toEntry(row, toStamp))).join('')
    },
    end: (balance) =>
      lines([
        '</BANKTRANLIST>',
        ...(balance?.currentBalance == null
          ? []
          : [
              '<LEDGERBAL>',
              `<BALAMT>${balance.currentBalance}`,
              `<DTASOF>${stamp(balanceAt)}`,
              '</LEDGERBAL>',
            ]),
        ...(balance?.currentBalance == null || balance.availableBalance == null
          ? []
          : [
              '<AVAILBAL>',
              `<BALAMT>${balance.availableBalance}`,
              `<DTASOF>${stamp(balanceAt)}`,
              '</AVAILBAL>',
            ]),
        ...[`</${names.statement}>`, `</${names.response}>`, `</${names.set}>`, '</OFX>'],
      ]),
  }
}

const describeOther = (currency: string, shown: string) =>
  `A transaction is in ${currency}, and an OFX file has one currency, here ${shown}: choose csv or json`

/** What was asked for, or 30 days before the last day or today, whichever is earlier (R14). */
function firstDayOf(subject: ExportSubject): string {
  if (subject.from !== null) return toDay(subject.from, subject, -1)
  const [earlier = ''] = [subject.to ?? nowOf(subject), nowOf(subject)]
    .map((bound) => toDay(bound, subject, -1))
    .sort()
  return Temporal.PlainDate.from(earlier).subtract({ days: 30 }).toString()
}

const lastDayOf = (subject: ExportSubject) => toDay(subject.to ?? nowOf(subject), subject, 1)

const nowOf = ({ now }: ExportSubject) => new Date(now).toISOString()

/**
 * The day of a day or an instant, which the API has accepted. In another zone the instant may be of the day
 * before or after.
 */
function toDay(bound: string, { zone, isOtherZone }: ExportSubject, days: -1 | 1): string {
  if (bound.length === 10) return bound
  const day = Temporal.Instant.from(bound).toZonedDateTimeISO(zone).toPlainDate()
  return day.add({ days: isOtherZone ? days : 0 }).toString()
}

function toEntry(row: Transaction, toStamp: (day: string) => string): readonly string[] {
  const name = row.merchantName ?? row.description
  const shortName = cut(name, maxLengths.name)
  const memo = shortName === row.description ? '' : row.description
  return [
    '<STMTTRN>',
    `<TRNTYPE>${row.direction === 'credit' ? 'CREDIT' : 'DEBIT'}`,
    `<DTPOSTED>${toStamp(row.date)}`,
    `<TRNAMT>${row.amount}`,
    `<FITID>${toValue(row.id.length <= maxLengths.id ? row.id : hash('sha256', row.id))}`,
    `<NAME>${toValue(shortName === '' ? '-' : shortName)}`,
    ...(memo === '' ? [] : [`<MEMO>${toValue(cut(memo, maxLengths.memo))}`]),
    '</STMTTRN>',
  ]
}

const lines = (texts: readonly string[]) => texts.map((text) => `${text}\r\n`).join('')

/** By whole characters: a surrogate pair is never split. */
const cut = (text: string, length: number) => [...text].slice(0, length).join('').trim()

/** Values end at the end of their line. */
const toValue = (text: string) =>
  text
    .replace(/[\u0000-\u001f\u007f]+/g, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .trim()

/** OFX 1.02, 3.2.8: date, time and zone. */
const stamp = (ms: number) => `${new Date(ms).toISOString().replace(/\D/g, '').slice(0, 14)}[0:GMT]`
