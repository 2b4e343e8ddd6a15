/**
 * OFX 1.02 (SGML), which GnuCash, KMyMoney, HomeBank and others read: one statement of a bank account or a
 * card. `FITID` is the transaction's id, by which programs know rows that they have read before.
 */
import { hash } from 'node:crypto'
import type { AccountType, Transaction } from '#contract/resources.ts'
import { toMidday } from '#kernel/midday.ts'
import type { Exporter, ExportSubject } from './exporter.ts'

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
/** OFX 1.02, 11.3 and 11.4: the lengths of BANKID, ACCTID, FITID and NAME. */
const [maxBankLength, maxAccountLength, maxIdLength, maxNameLength] = [9, 22, 255, 32]

const bankTypes: Readonly<Partial<Record<AccountType, string>>> = {
  savings: 'SAVINGS',
  'term-deposit': 'SAVINGS',
  loan: 'CREDITLINE',
}

export function makeOfx(subject: ExportSubject): Exporter<Transaction> {
  const { account, zone, now } = subject
  const isCard = account.type === 'credit-card'
  const names = isCard
    ? { set: 'CREDITCARDMSGSRSV1', response: 'CCSTMTTRNRS', statement: 'CCSTMTRS' }
    : { set: 'BANKMSGSRSV1', response: 'STMTTRNRS', statement: 'STMTRS' }
  const toStamp = (day: string) => stamp(toMidday(day, zone) * 1000)
  // A UUID is longer; what is left of its digits still tells a person's accounts apart.
  const accountId = account.id.replaceAll('-', '').slice(0, maxAccountLength)
  const owner = isCard
    ? ['<CCACCTFROM>', `<ACCTID>${accountId}`, '</CCACCTFROM>']
    : [
        '<BANKACCTFROM>',
        `<BANKID>${toValue(cut(account.institutionName ?? 'bank', maxBankLength))}`,
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
        `<CURDEF>${account.currency}`,
        ...owner,
        '<BANKTRANLIST>',
        `<DTSTART>${toStamp(firstDayOf(subject))}`,
        `<DTEND>${toStamp(lastDayOf(subject))}`,
      ]),
    add: (rows) => rows.map((row) => lines(toEntry(row, toStamp))).join(''),
    end: (balance) =>
      lines([
        '</BANKTRANLIST>',
        ...(balance?.currentBalance == null
          ? []
          : [
              '<LEDGERBAL>',
              `<BALAMT>${balance.currentBalance}`,
              `<DTASOF>${stamp(now)}`,
              '</LEDGERBAL>',
            ]),
        ...(balance?.currentBalance == null || balance.availableBalance == null
          ? []
          : [
              '<AVAILBAL>',
              `<BALAMT>${balance.availableBalance}`,
              `<DTASOF>${stamp(now)}`,
              '</AVAILBAL>',
            ]),
        ...[`</${names.statement}>`, `</${names.response}>`, `</${names.set}>`, '</OFX>'],
      ]),
  }
}

/** What was asked for, or 30 days before the last day or today, whichever is earlier (R14). */
function firstDayOf(subject: ExportSubject): string {
  if (subject.from !== null) return subject.from.slice(0, 10)
  const [earlier = ''] = [lastDayOf(subject), todayOf(subject)].sort()
  return Temporal.PlainDate.from(earlier).subtract({ days: 30 }).toString()
}

const lastDayOf = (subject: ExportSubject) => subject.to?.slice(0, 10) ?? todayOf(subject)

const todayOf = ({ now, zone }: ExportSubject) =>
  Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).toPlainDate().toString()

function toEntry(row: Transaction, toStamp: (day: string) => string): readonly string[] {
  const name = row.merchantName ?? row.description
  const shortName = cut(name, maxNameLength)
  const memo = shortName === row.description ? '' : row.description
  return [
    '<STMTTRN>',
    `<TRNTYPE>${row.direction === 'credit' ? 'CREDIT' : 'DEBIT'}`,
    `<DTPOSTED>${toStamp(row.date)}`,
    `<TRNAMT>${row.amount}`,
    `<FITID>${toValue(row.id.length <= maxIdLength ? row.id : hash('sha256', row.id))}`,
    `<NAME>${toValue(shortName === '' ? '-' : shortName)}`,
    ...(memo === '' ? [] : [`<MEMO>${toValue(memo)}`]),
    '</STMTTRN>',
  ]
}

const lines = (texts: readonly string[]) => texts.map((text) => `${text}\r\n`).join('')

/** By whole characters: half of one is none. */
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
