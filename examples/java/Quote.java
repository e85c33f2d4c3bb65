import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a router asks of its book in Java: the ladder of a pair, and a quote that the contract fills to the wei. Pure functions over
 * entries of limit-orders.book.v1 and clocks by partition; shared/book does it without sorting each time. As a command it answers
 * shared/book/vectors.json on its input. examples/README.md has its class path.
 */
class Quote {
  /** An order and what can be filled of it. */
  record Offer(JsonNode entry, BigInteger most) {
    BigInteger making() { return number(entry.at("/order/making/amount")); }
    BigInteger taking() { return number(entry.at("/order/taking/amount")); }
    /** As the contract: rounded up, each fill by itself. */
    BigInteger cost(BigInteger amount) {
      return amount.multiply(taking()).add(making()).subtract(BigInteger.ONE).divide(making());
    }
    int comparePrice(Offer other) {
      return taking().multiply(other.making()).compareTo(other.taking().multiply(making()));
    }
  }

  record Fill(Offer offer, BigInteger making) {}

  final List<Fill> fills = new ArrayList<>();
  final List<Fill> spares = new ArrayList<>();
  BigInteger amountIn = BigInteger.ZERO;
  BigInteger amountOut = BigInteger.ZERO;

  /** The best first: orders of a maker share what it has of the token. */
  static List<Offer> offers(List<JsonNode> entries, Map<Integer, Long> clocks, JsonNode pair, long now, long staleMax) {
    var selling = entries.stream().filter(e -> e.at("/order/making/token").equals(pair.get("tokenOut"))).toList();
    var left = new HashMap<String, BigInteger>();
    selling.stream().filter(e -> e.has("funding")).sorted(Comparator.comparing(e -> e.at("/funding/block").asLong())).forEach(
        e -> left.put(e.at("/order/maker").asText(), number(e.at("/funding/balance")).min(number(e.at("/funding/allowance")))));
    var offers = new ArrayList<Offer>();
    selling.stream().map(e -> new Offer(e, BigInteger.ZERO)).sorted(((Comparator<Offer>) Offer::comparePrice)
        .thenComparing(o -> o.entry.get("acceptedAtMs").asLong()).thenComparing(o -> o.entry.get("orderHash").asText()))
        .map(Offer::entry).forEach(e -> {
          var clock = clocks.get(e.at("/position/partition").asInt());
          if (!e.get("status").asText().equals("ACTIVE") || !e.at("/order/taking/token").equals(pair.get("tokenIn"))) return;
          if (now >= e.get("routableUntil").asLong() || clock == null || now - clock > staleMax) return;
          if (number(e.at("/order/permittedTaker")).signum() != 0) return;
          var maker = e.at("/order/maker").asText();
          var most = number(e.get("remainingMakingAmount")).min(left.get(maker));
          left.put(maker, left.get(maker).subtract(most));
          if (most.signum() > 0) offers.add(new Offer(e, most));
        });
    return offers;
  }

  /** @param backups percent of the amount that the spare orders cover */
  Quote(List<Offer> offers, BigInteger wantedIn, BigInteger wantedOut, long backups) {
    var spare = BigInteger.ZERO;
    for (var offer : offers) {
      var making = wantedOut != null ? offer.most.min(wantedOut.subtract(amountOut)) : within(offer, wantedIn.subtract(amountIn));
      if (making.signum() > 0) {
        fills.add(new Fill(offer, making));
        amountIn = amountIn.add(offer.cost(making));
        amountOut = amountOut.add(making);
        continue;
      }
      if (spare.multiply(BigInteger.valueOf(100)).compareTo(amountOut.multiply(BigInteger.valueOf(backups))) >= 0) break;
      spares.add(new Fill(offer, offer.most));
      spare = spare.add(offer.most);
    }
  }

  static BigInteger within(Offer offer, BigInteger left) {
    return offer.cost(offer.most).compareTo(left) <= 0 ? offer.most : left.multiply(offer.making()).divide(offer.taking());
  }

  static BigInteger number(JsonNode hex) {
    return new BigInteger(hex.asText().substring(2), 16);
  }

  /** Levels: price, amountIn, amountOut, orders. */
  static List<List<String>> ladder(List<Offer> offers) {
    var levels = new ArrayList<List<String>>();
    for (int from = 0, to; from < offers.size(); from = to) {
      var first = offers.get(from);
      BigInteger in = BigInteger.ZERO, out = BigInteger.ZERO;
      for (to = from; to < offers.size() && offers.get(to).comparePrice(first) == 0; to++) {
        in = in.add(offers.get(to).cost(offers.get(to).most));
        out = out.add(offers.get(to).most);
      }
      var divisor = first.taking().gcd(first.making());
      var price = first.taking().divide(divisor) + "/" + first.making().divide(divisor);
      levels.add(List.of(price, in.toString(), out.toString(), String.valueOf(to - from)));
    }
    return levels;
  }

  public static void main(String[] args) throws Exception {
    var json = new ObjectMapper();
    var answers = new ArrayList<Object>();
    for (var vector : json.readTree(System.in)) {
      var request = vector.get("request");
      var clocks = new HashMap<Integer, Long>();
      vector.get("clocks").forEach(c -> clocks.put(c.at("/position/partition").asInt(), c.at("/block/timestamp").asLong()));
      var entries = new ArrayList<JsonNode>();
      vector.get("entries").forEach(entries::add);
      var offers = offers(entries, clocks, request.get("pair"), request.get("nowSeconds").asLong(), request.get("staleSecondsMax").asLong());
      var asked = request.get("asked");
      var quote = new Quote(offers, asked.has("amountIn") ? new BigInteger(asked.get("amountIn").asText()) : null,
          asked.has("amountOut") ? new BigInteger(asked.get("amountOut").asText()) : null, request.get("backups").asLong());
      var answer = new LinkedHashMap<String, Object>();
      answer.put("ladder", ladder(offers));
      answer.put("fills", quote.fills.stream().map(f -> List.of(f.offer.entry.get("orderHash").asText(), f.making.toString(), f.offer.cost(f.making).toString())).toList());
      answer.put("spares", quote.spares.stream().map(f -> List.of(f.offer.entry.get("orderHash").asText(), f.making.toString())).toList());
      answer.put("amountIn", quote.amountIn.toString());
      answer.put("amountOut", quote.amountOut.toString());
      answers.add(answer);
    }
    System.out.println(json.writeValueAsString(answers));
  }
}
