/** Captures in the pcapng format. The reader is in capture/, where pcap's stands beside it. */
import { isPcapng, PcapngReader } from '../../capture/pcapng.js'
import type { Format } from '../format.js'

export const pcapng: Format = {
  id: 'pcapng',
  title: 'capture (pcapng)',
  names: [/\.(pcapng|ntar)(\.gz)?$/],
  split: 'none',
  collect: "dumpcap -i any -s 256 -f 'host <ip>' -w <node>.pcapng",
  sniff: head => (isPcapng(head) ? 1 : 0),
  open: () => new PcapngReader(),
}
