import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Computes the ladder of a pair, and a quote that the contract fills to the wei. Pure functions over entries of
 * limit-orders.book.v1 and the clocks of partitions. They sort at each call; shared/book does not. As a command it
 * answers shared/book/vectors.json on its input. examples/README.md has its class path.
 */
class Quote {
  /** An order, and how much of it can be filled. */
  record Offer(JsonNode entry, BigInteger most) {
    BigInteger making() { return number(entry.at("/order/making/amount")); }
    BigInteger taking() { return number(entry.at("/order/taking/amount")); }
    /** Rounds up each fill by itself, like the contract. */
    BigInteger cost(BigInteger amount) { return ceilDivide(amount.multiply(taking()), making()); }
    int comparePrice(Offer other) {
      return taking().multiply(other.making()).compareTo(other.taking().multiply(making()));
    }
  }

  record Fill(Offer offer, BigInteger making) {}

  final List<Fill> fills = new ArrayList<>();
  final List<Fill> spares = new ArrayList<>();
  BigInteger amountIn = BigInteger.ZERO;
  BigInteger amountOut = BigInteger.ZERO;
  /** Better orders that give too little to be filled. */
  int passedOver;

  /** Sorts the best first. Orders of a maker share the maker's funds of the token. */
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

  /** A request for a quote. One of the two amounts is null. Spare orders cover `backups` percent of the amount. */
  record Asked(BigInteger in, BigInteger out, long backups, int ordersMax) {
    BigInteger wanted() { return out != null ? out : in; }
    BigInteger amountOf(Offer offer) { return out != null ? offer.most : offer.cost(offer.most); }
  }

  /** @param gasFloor an order or a part that gives less is not worth its gas; null if the gas price is unknown */
  static Quote of(List<Offer> offers, Asked asked, BigInteger gasFloor) {
    var one = BigInteger.ONE;
    if (gasFloor != null) return new Quote(offers, asked, offer -> offer.most.compareTo(gasFloor) < 0, asked.in == null ? one : gasFloor.max(one));
    var whole = new Quote(offers, asked, offer -> false, one);
    if (!whole.isEnough) return whole;
    // Pass over less than a thousandth of the quote, as long as the other orders are enough.
    var fair = new Quote(offers, asked, offer -> offer.most.multiply(BigInteger.valueOf(1000)).compareTo(whole.amountOut) < 0, one);
    return fair.isEnough ? fair : whole;
  }

  private final boolean isEnough;

  private Quote(List<Offer> offers, Asked asked, Predicate<Offer> isDust, BigInteger least) {
    var chosen = new ArrayList<Offer>();
    int seen = choose(offers, asked.wanted(), asked::amountOf, isDust, asked.ordersMax, chosen);
    isEnough = chosen.stream().map(asked::amountOf).reduce(BigInteger.ZERO, BigInteger::add).compareTo(asked.wanted()) >= 0;
    passedOver = seen - chosen.size();
    var rest = new ArrayList<Offer>();
    for (var offer : chosen) {
      var making = asked.out != null ? offer.most.min(asked.out.subtract(amountOut)) : within(offer, asked.in.subtract(amountIn));
      if (making.compareTo(least) < 0) {
        rest.add(offer);
        continue;
      }
      fills.add(new Fill(offer, making));
      amountIn = amountIn.add(offer.cost(making));
      amountOut = amountOut.add(making);
    }
    rest.addAll(offers.subList(seen, offers.size()));
    var spare = ceilDivide(amountOut.multiply(BigInteger.valueOf(asked.backups)), BigInteger.valueOf(100));
    var next = new ArrayList<Offer>();
    choose(rest, spare, Offer::most, isDust, asked.ordersMax - fills.size(), next);
    next.forEach(offer -> spares.add(new Fill(offer, offer.most)));
  }

  /** Takes offers until they are enough. Of too many drops the one that gives least. Returns how many it has seen. */
  static int choose(List<Offer> offers, BigInteger wanted, Function<Offer, BigInteger> amountOf, Predicate<Offer> isDust,
      int countMax, List<Offer> chosen) {
    var sum = BigInteger.ZERO;
    int seen = 0;
    for (; seen < offers.size() && countMax > 0 && sum.compareTo(wanted) < 0; seen++) {
      var offer = offers.get(seen);
      if (isDust.test(offer)) continue;
      chosen.add(offer);
      sum = sum.add(amountOf.apply(offer));
      if (chosen.size() <= countMax) continue;
      // Drop the last of equal ones.
      var least = chosen.stream().reduce((one, other) -> other.most.compareTo(one.most) <= 0 ? other : one).orElseThrow();
      chosen.remove(least);
      sum = sum.subtract(amountOf.apply(least));
    }
    return seen;
  }

  static BigInteger within(Offer offer, BigInteger left) {
    return offer.cost(offer.most).compareTo(left) <= 0 ? offer.most : left.multiply(offer.making()).divide(offer.taking());
  }

  static BigInteger ceilDivide(BigInteger one, BigInteger other) {
    return one.add(other).subtract(BigInteger.ONE).divide(other);
  }

  static BigInteger number(JsonNode hex) {
    return new BigInteger(hex.asText().substring(2), 16);
  }

  /** The levels, each with price, amountIn, amountOut and orders. */
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
      var gasPrice = request.get("amountOutPerMillionGas");
      var quote = of(offers, new Asked(asked.has("amountIn") ? new BigInteger(asked.get("amountIn").asText()) : null,
          asked.has("amountOut") ? new BigInteger(asked.get("amountOut").asText()) : null, request.get("backups").asLong(), request.get("ordersMax").asInt()),
          gasPrice.isNull() ? null : ceilDivide(new BigInteger(gasPrice.asText()).multiply(request.get("gasPerOrder").bigIntegerValue()), BigInteger.valueOf(1_000_000)));
      var answer = new LinkedHashMap<String, Object>();
      answer.put("ladder", ladder(offers));
      answer.put("fills", quote.fills.stream().map(f -> List.of(f.offer.entry.get("orderHash").asText(), f.making.toString(), f.offer.cost(f.making).toString())).toList());
      answer.put("spares", quote.spares.stream().map(f -> List.of(f.offer.entry.get("orderHash").asText(), f.making.toString())).toList());
      answer.put("amountIn", quote.amountIn.toString());
      answer.put("amountOut", quote.amountOut.toString());
      answer.put("passedOver", quote.passedOver);
      answers.add(answer);
    }
    System.out.println(json.writeValueAsString(answers));
  }
}
