import com.marcnuri.helm.Helm;
import java.nio.file.Path;

/** Runs `lint <chart>` or `template <chart> <values file> …`, and prints what Helm prints. */
public class RunHelm {
  public static void main(String[] words) {
    var chart = new Helm(Path.of(words[1]));
    if (words[0].equals("lint")) {
      var result = chart.lint().strict().call();
      result.getMessages().forEach(System.out::println);
      System.exit(result.isFailed() ? 1 : 0);
    }
    var template = chart.template().withName("makerbook").withNamespace("makerbook").withKubeVersion("1.32.0");
    for (int at = 2; at < words.length; at += 1) template.withValuesFile(Path.of(words[at]));
    System.out.print(template.call());
  }
}
