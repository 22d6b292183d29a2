/** Captures in libpcap's format. The reader is in capture/, where pcapng's stands beside it. */
import { isPcap, PcapReader } from '../../capture/pcap.js'
import type { Format } from '../format.js'

export const pcap: Format = {
  id: 'pcap',
  title: 'capture (pcap)',
  names: [/\.(pcap|cap|dmp|dump)\d{0,3}(\.gz)?$/],
  split: 'none',
  collect: "tcpdump -i any -s 256 -w <node>.pcap 'host <ip>'",
  sniff: head => (isPcap(head) ? 1 : 0),
  open: () => new PcapReader(),
}
